// SPDX-License-Identifier: MIT
//
// A Python module around the three functions of dlpack.hpp, for dlpack_numpy.py: what an extension of one's own needs.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <ztensor/dlpack.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <string>
#include <utility>

namespace dlpack = ztensor::dlpack;

namespace {

PyObject* raise(const ztensor::error& why) {
    PyErr_SetString(PyExc_ValueError, why.what().c_str());
    return nullptr;
}

/// Who has taken the tensor out of a capsule has renamed it; what nobody took goes with the capsule.
void drop_capsule(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, dlpack::capsule_name) != 0) {
        const auto dropped = dlpack::take_over(
            static_cast<dlpack::managed_tensor*>(PyCapsule_GetPointer(capsule, dlpack::capsule_name)));
    }
}

PyObject* in_capsule(ztensor::result<dlpack::handle> tensor) {
    if (!tensor) {
        return raise(tensor.error());
    }
    return PyCapsule_New((*std::move(tensor)).release(), dlpack::capsule_name, drop_capsule);
}

/// view(path, name) → capsule: in place, read-only. read(path, name) → capsule: decoded, writable.
PyObject* lend(PyObject* arguments, bool is_view) {
    const char* path = nullptr;
    const char* name = nullptr;
    if (PyArg_ParseTuple(arguments, "ss", &path, &name) == 0) {
        return nullptr;
    }
    const auto model = ztensor::reader::open(path);
    if (!model) {
        return raise(model.error());
    }
    const auto object = model->find(name);
    if (!object) {
        return raise(object.error());
    }
    return in_capsule(is_view ? view_dlpack(*model, *object) : read_dlpack(*object));
}
PyObject* view(PyObject*, PyObject* arguments) {
    return lend(arguments, true);
}
PyObject* read(PyObject*, PyObject* arguments) {
    return lend(arguments, false);
}

/// save(path, name, capsule): a file of one tensor.
PyObject* save(PyObject*, PyObject* arguments) {
    const char* path = nullptr;
    const char* name = nullptr;
    PyObject* capsule = nullptr;
    if (PyArg_ParseTuple(arguments, "ssO", &path, &name, &capsule) == 0) {
        return nullptr;
    }
    auto* const lent = static_cast<dlpack::managed_tensor*>(PyCapsule_GetPointer(capsule, dlpack::capsule_name));
    if (lent == nullptr || PyCapsule_SetName(capsule, dlpack::used_capsule_name) != 0) {
        return nullptr;
    }
    const dlpack::handle tensor = dlpack::take_over(lent);
    auto out = ztensor::writer::create(path);
    if (!out) {
        return raise(out.error());
    }
    const auto saved = add_dlpack(*out, name, *tensor).and_then([&] { return out->finish(); });
    if (!saved) {
        return raise(saved.error());
    }
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"view", view, METH_VARARGS, nullptr},
                           {"read", read, METH_VARARGS, nullptr},
                           {"save", save, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "dlpack_module", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_dlpack_module() {
    return PyModule_Create(&module);
}
