/* A test extension: calls a function while chosen allocations of the interpreter fail. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { DOMAINS = 3 };

static PyMemAllocatorEx originals[DOMAINS];
static Py_ssize_t requests, first_failing, failing, raw_blocks;

static int
fails(void)
{
    Py_ssize_t number = requests++;
    return number >= first_failing && number - first_failing < failing;
}

static void *
count_raw(void *original, void *block)
{
    if (block != NULL && original == &originals[PYMEM_DOMAIN_RAW])
        raw_blocks++;
    return block;
}

static void *
allocate(void *context, size_t size)
{
    PyMemAllocatorEx *original = context;
    return fails() ? NULL : count_raw(context, original->malloc(original->ctx, size));
}

static void *
allocate_zeroed(void *context, size_t count, size_t size)
{
    PyMemAllocatorEx *original = context;
    return fails() ? NULL : count_raw(context, original->calloc(original->ctx, count, size));
}

static void *
reallocate(void *context, void *block, size_t size)
{
    PyMemAllocatorEx *original = context;
    if (fails())
        return NULL;
    void *moved = original->realloc(original->ctx, block, size);
    return block == NULL ? count_raw(context, moved) : moved;
}

static void
release(void *context, void *block)
{
    PyMemAllocatorEx *original = context;
    if (block != NULL && context == &originals[PYMEM_DOMAIN_RAW])
        raw_blocks--;
    original->free(original->ctx, block);
}

PyDoc_STRVAR(call_doc,
"call(function, arguments, first, count, /)\n--\n\n"
"Call a function while the allocations with the numbers first to first + count - 1 fail.\n\n"
"Return its result, the number of allocations, and the raw blocks that it left allocated. The\n"
"result is None if it raised MemoryError; another exception is raised.");

static PyObject *
call(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *function, *its_arguments;
    Py_ssize_t first, count;
    if (!PyArg_ParseTuple(arguments, "OO!nn:call", &function, &PyTuple_Type, &its_arguments,
                          &first, &count))
        return NULL;
    Py_ssize_t blocks = raw_blocks;
    requests = 0;
    first_failing = first;
    failing = count;
    PyObject *result = PyObject_Call(function, its_arguments, NULL);
    failing = 0;
    Py_ssize_t allocations = requests;
    Py_ssize_t left = raw_blocks - blocks;
    if (result == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_MemoryError))
            return NULL;
        PyErr_Clear();
        result = Py_NewRef(Py_None);
    }
    return Py_BuildValue("(Nnn)", result, allocations, left);
}

static PyMethodDef methods[] = {
    {"call", call, METH_VARARGS, call_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "failing_allocations",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit_failing_allocations(void)
{
    const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM,
                                            PYMEM_DOMAIN_OBJ};
    for (int i = 0; i < DOMAINS; i++) {
        PyMem_GetAllocator(domains[i], &originals[domains[i]]);
        PyMemAllocatorEx counting = {&originals[domains[i]], allocate, allocate_zeroed,
                                     reallocate, release};
        PyMem_SetAllocator(domains[i], &counting);
    }
    return PyModule_Create(&definition);
}
