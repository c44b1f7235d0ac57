/* The compiled search for boundaries: where items of a list of the root begin and end.

   It knows strings, escapes and brackets, and nothing else of JSON. selection/boundaries.py says
   what its arguments and results mean and has the same function in Python. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

enum { LIST_OPENED = 0, LIST_CLOSED = 1, ITEM_OPENED = 2, ITEM_CLOSED = 3, KIND_BITS = 2 };
enum { OUTSIDE = 0, INSIDE = 1, ESCAPED = 2 };

/* Depths in front of a bracket that opens, and behind one that closes. */
enum { IN_ROOT = 1, IN_LIST = 2 };

static int
add_mark(PyObject *marks, Py_ssize_t position, int kind)
{
    PyObject *mark = PyLong_FromSsize_t((position << KIND_BITS) | kind);
    if (mark == NULL)
        return -1;
    int failed = PyList_Append(marks, mark);
    Py_DECREF(mark);
    return failed;
}

/* The end of the string whose content begins at `at`: behind its quote, or NULL if it is not
   closed before `end`; then `string` is how it goes on. */
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
find_marks(const char *data, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t *depth, int *string,
           PyObject *marks)
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
                failed = add_mark(marks, at - 1 - data, ITEM_OPENED);
            ++*depth;
            break;
        case '[':
            if (*depth == IN_ROOT)
                failed = add_mark(marks, at - 1 - data, LIST_OPENED);
            ++*depth;
            break;
        case '}':
        case ']':
            --*depth;
            if (*depth == IN_LIST)
                failed = add_mark(marks, at - 1 - data, ITEM_CLOSED);
            else if (*depth == IN_ROOT)
                failed = add_mark(marks, at - 1 - data, LIST_CLOSED);
            break;
        default:
            break;
        }
    }
    return failed;
}

PyDoc_STRVAR(find_doc,
"find(data, start, stop, depth, string, /)\n--\n\n"
"Find the boundaries in a part of some bytes; see selection.stream.boundaries.find.");

static PyObject *
find(PyObject *module, PyObject *args)
{
    Py_buffer data;
    Py_ssize_t start, stop, depth;
    int string;
    if (!PyArg_ParseTuple(args, "y*nnni:find", &data, &start, &stop, &depth, &string))
        return NULL;
    PyObject *result = NULL;
    if (start < 0 || stop < start || stop > data.len || string < OUTSIDE || string > ESCAPED)
        PyErr_SetString(PyExc_ValueError, "start, stop or string is out of range");
    else {
        PyObject *marks = PyList_New(0);
        if (marks != NULL && find_marks(data.buf, start, stop, &depth, &string, marks) == 0)
            result = Py_BuildValue("(Oni)", marks, depth, string);
        Py_XDECREF(marks);
    }
    PyBuffer_Release(&data);
    return result;
}

PyDoc_STRVAR(is_plain_doc,
"is_plain(data, /)\n--\n\n"
"Whether bytes have no `\\u` escape, vertical tab or form feed.");

static PyObject *
is_plain(PyObject *module, PyObject *argument)
{
    enum { STEP = 4096 };
    Py_buffer data;
    if (PyObject_GetBuffer(argument, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    const unsigned char *bytes = data.buf;
    int found = 0;
    for (Py_ssize_t start = 0; start < data.len - 1 && !found; start += STEP) {
        Py_ssize_t end = data.len - 1 - start < STEP ? data.len - 1 : start + STEP;
        /* Without a way out, so that it is compiled to vector instructions. */
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

static PyModuleDef_Slot slots[] = {
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "selection.stream._boundaries",
    .m_doc = "The compiled search for boundaries.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__boundaries(void)
{
    return PyModuleDef_Init(&definition);
}
