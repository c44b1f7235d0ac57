/* The search for boundaries in C: where the items of a list in the root object begin and end.

   It distinguishes strings, escapes and brackets, and nothing else of JSON.
   selection/stream/boundaries.py documents arguments and results and has the same function in
   Python.

   The module has no state: its static tables do not change once it is imported. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

/* Constants that the Python module has, too; exported, and compared by tests. */
enum { LIST_OPENED = 0, LIST_CLOSED = 1, ITEM_OPENED = 2, ITEM_CLOSED = 3, KIND_BITS = 2 };
enum { OUTSIDE = 0, INSIDE = 1, ESCAPED = 2 };

/* Depths before an opening bracket and after a closing one. */
enum { IN_ROOT = 1, IN_LIST = 2 };

static int
add_boundary(PyObject *boundaries, Py_ssize_t position, int kind)
{
    PyObject *boundary = PyLong_FromSsize_t((position << KIND_BITS) | kind);
    if (boundary == NULL)
        return -1;
    int failed = PyList_Append(boundaries, boundary);
    Py_DECREF(boundary);
    return failed;
}

/* Return the byte after the closing quote of the string whose content begins at `at`. If it does
   not end before `end`, return NULL and set `string` to its state there. */
static const char *
string_end(const char *at, const char *end, int *string)
{
    const char *start = at;
    const char *quote;
    while ((quote = memchr(at, '"', (size_t)(end - at))) != NULL) {
        const char *run = quote;
        while (run > start && run[-1] == '\\')
            run--;
        at = quote + 1;
        if ((quote - run) % 2 == 0)
            return at;
        start = at;
    }
    const char *run = end;
    while (run > start && run[-1] == '\\')
        run--;
    *string = (end - run) % 2 ? ESCAPED : INSIDE;
    return NULL;
}

static int
find_boundaries(const char *data, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t *depth,
                int *string, PyObject *boundaries)
{
    const char *at = data + start;
    const char *end = data + stop;
    int failed = 0;
    if (*string != OUTSIDE) {
        if (*string == ESCAPED && at < end)
            at++;
        else if (*string == ESCAPED)
            return 0;
        if ((at = string_end(at, end, string)) == NULL)
            return 0;
        *string = OUTSIDE;
    }
    while (at < end && !failed) {
        switch (*at++) {
        case '"':
            if ((at = string_end(at, end, string)) == NULL)
                return 0;
            break;
        case '{':
            if (*depth == IN_LIST)
                failed = add_boundary(boundaries, at - 1 - data, ITEM_OPENED);
            ++*depth;
            break;
        case '[':
            if (*depth == IN_ROOT)
                failed = add_boundary(boundaries, at - 1 - data, LIST_OPENED);
            ++*depth;
            break;
        case '}':
        case ']':
            --*depth;
            if (*depth == IN_LIST)
                failed = add_boundary(boundaries, at - 1 - data, ITEM_CLOSED);
            else if (*depth == IN_ROOT)
                failed = add_boundary(boundaries, at - 1 - data, LIST_CLOSED);
            break;
        default:
            break;
        }
    }
    return failed;
}

PyDoc_STRVAR(find_doc,
"find(data, start, stop, depth, string, /)\n--\n\n"
"Find the boundaries in data[start:stop]; see selection.stream.boundaries.find.");

static PyObject *
find(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer data;
    Py_ssize_t start, stop, depth;
    int string;
    if (!PyArg_ParseTuple(args, "y*nnni:find", &data, &start, &stop, &depth, &string))
        return NULL;
    PyObject *result = NULL;
    if (start < 0 || stop < start || stop > data.len || string < OUTSIDE || string > ESCAPED)
        PyErr_SetString(PyExc_ValueError, "start, stop or string is out of range");
    else if (depth > PY_SSIZE_T_MAX - (stop - start) || depth < PY_SSIZE_T_MIN + (stop - start))
        PyErr_SetString(PyExc_ValueError, "depth is out of range");
    else {
        PyObject *boundaries = PyList_New(0);
        if (boundaries != NULL &&
            find_boundaries(data.buf, start, stop, &depth, &string, boundaries) == 0)
            result = Py_BuildValue("(Oni)", boundaries, depth, string);
        Py_XDECREF(boundaries);
    }
    PyBuffer_Release(&data);
    return result;
}

PyDoc_STRVAR(is_plain_doc,
"is_plain(data, /)\n--\n\n"
"Return whether bytes have no `\\u` escape, vertical tab or form feed.");

static PyObject *
is_plain(PyObject *Py_UNUSED(module), PyObject *argument)
{
    enum { STEP = 4096 };
    Py_buffer data;
    if (PyObject_GetBuffer(argument, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    const unsigned char *bytes = data.buf;
    int found = 0;
    for (Py_ssize_t start = 0; start < data.len - 1 && !found; start += STEP) {
        Py_ssize_t end = data.len - 1 - start < STEP ? data.len - 1 : start + STEP;
        /* GCC vectorizes this loop because it has no early exit. */
        for (Py_ssize_t i = start; i < end; i++)
            found |= (bytes[i] == '\v') | (bytes[i] == '\f') |
                     ((bytes[i] == '\\') & (bytes[i + 1] == 'u'));
    }
    if (data.len > 0)
        found |= (bytes[data.len - 1] == '\v') | (bytes[data.len - 1] == '\f');
    PyBuffer_Release(&data);
    return PyBool_FromLong(!found);
}

static PyMethodDef methods[] = {
    {"is_plain", is_plain, METH_O, is_plain_doc},
    {"find", find, METH_VARARGS, find_doc},
    {NULL, NULL, 0, NULL},
};

static int
execute(PyObject *module)
{
    if (PyModule_AddIntMacro(module, LIST_OPENED) < 0 ||
        PyModule_AddIntMacro(module, LIST_CLOSED) < 0 ||
        PyModule_AddIntMacro(module, ITEM_OPENED) < 0 ||
        PyModule_AddIntMacro(module, ITEM_CLOSED) < 0 ||
        PyModule_AddIntMacro(module, KIND_BITS) < 0 || PyModule_AddIntMacro(module, OUTSIDE) < 0 ||
        PyModule_AddIntMacro(module, INSIDE) < 0 || PyModule_AddIntMacro(module, ESCAPED) < 0 ||
        PyModule_AddIntMacro(module, IN_ROOT) < 0 || PyModule_AddIntMacro(module, IN_LIST) < 0)
        return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "selection.stream._boundaries",
    .m_doc = "The search for boundaries in C.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__boundaries(void)
{
    return PyModuleDef_Init(&definition);
}
