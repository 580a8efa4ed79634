// SPDX-License-Identifier: MIT
//
// The closed list of names whose meaning is known, and what each stands for. Nothing on it is ever run: each is a row
// of a table. What a pickle makes by other names stays an object that is not made.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_GLOBALS_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_GLOBALS_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

enum class pickle_role : std::uint8_t {
    dictionary,      ///< makes one, empty or of its argument
    list,            ///< likewise
    first,           ///< is the first of its arguments, which is a container
    bytes,           ///< makes bytes of a text, or is those that it is made of
    text,            ///< is the text that it is made of
    tensor,          ///< makes a tensor of a typed storage
    tensor_of_dtype, ///< makes a tensor of an untyped storage and a dtype
    quantized_tensor,
    sparse_tensor,
    meta_tensor,
    parameter,       ///< is the tensor that it is made of
    of_type,         ///< calls another function, whose result gets a class
    storage,         ///< the class of a typed storage
    untyped_storage, ///< of bytes
    dtype,           ///< a constant
    scheme,          ///< of quantization, a constant
    numpy_array,     ///< makes an array or a scalar of NumPy
    numpy_dtype,     ///< makes the type of its elements
};

struct pickle_global {
    std::string_view module;
    std::string_view name;
    pickle_role role;
    std::string_view dtype = {}; ///< in the words of 1.2, like the next
    std::string_view type = {};
    std::uint8_t element_bytes = 0; ///< of PyTorch's element
};

inline constexpr pickle_global pickle_globals[] = {
    {"collections", "OrderedDict", pickle_role::dictionary},
    {"collections", "Counter", pickle_role::dictionary},
    {"collections", "defaultdict", pickle_role::dictionary},
    {"collections", "deque", pickle_role::list},
    {"builtins", "set", pickle_role::list},
    {"builtins", "frozenset", pickle_role::list},
    {"builtins", "list", pickle_role::list},
    {"builtins", "tuple", pickle_role::list},
    {"builtins", "dict", pickle_role::dictionary},
    {"builtins", "bytes", pickle_role::bytes},
    {"builtins", "bytearray", pickle_role::bytes},
    {"_codecs", "encode", pickle_role::bytes},
    {"numpy", "dtype", pickle_role::numpy_dtype},
    {"numpy.core.multiarray", "_reconstruct", pickle_role::numpy_array},
    {"numpy.core.multiarray", "scalar", pickle_role::numpy_array},
    {"numpy.core.numeric", "_frombuffer", pickle_role::numpy_array},
    {"numpy._core.multiarray", "_reconstruct", pickle_role::numpy_array},
    {"numpy._core.multiarray", "scalar", pickle_role::numpy_array},
    {"numpy._core.numeric", "_frombuffer", pickle_role::numpy_array},
    {"torch", "Size", pickle_role::first},
    {"torch", "device", pickle_role::text},
    {"torch.serialization", "_get_layout", pickle_role::text},
    {"torch.jit._pickle", "build_intlist", pickle_role::first},
    {"torch.jit._pickle", "build_tensorlist", pickle_role::first},
    {"torch.jit._pickle", "build_doublelist", pickle_role::first},
    {"torch.jit._pickle", "build_boollist", pickle_role::first},
    {"torch.jit._pickle", "restore_type_tag", pickle_role::first},
    {"torch._utils", "_rebuild_tensor", pickle_role::tensor},
    {"torch._utils", "_rebuild_tensor_v2", pickle_role::tensor},
    {"torch._utils", "_rebuild_tensor_v3", pickle_role::tensor_of_dtype},
    {"torch._utils", "_rebuild_qtensor", pickle_role::quantized_tensor},
    {"torch._utils", "_rebuild_sparse_tensor", pickle_role::sparse_tensor},
    {"torch._utils", "_rebuild_sparse_csr_tensor", pickle_role::sparse_tensor},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", pickle_role::meta_tensor},
    {"torch._utils", "_rebuild_parameter", pickle_role::parameter},
    {"torch._utils", "_rebuild_parameter_with_state", pickle_role::parameter},
    {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor", pickle_role::parameter},
    {"torch.nn.parameter", "Parameter", pickle_role::parameter},
    {"torch._tensor", "_rebuild_from_type_v2", pickle_role::of_type},
    {"torch", "DoubleStorage", pickle_role::storage, "f64", "", 8},
    {"torch", "FloatStorage", pickle_role::storage, "f32", "", 4},
    {"torch", "HalfStorage", pickle_role::storage, "f16", "", 2},
    {"torch", "BFloat16Storage", pickle_role::storage, "bf16", "", 2},
    {"torch", "LongStorage", pickle_role::storage, "i64", "", 8},
    {"torch", "IntStorage", pickle_role::storage, "i32", "", 4},
    {"torch", "ShortStorage", pickle_role::storage, "i16", "", 2},
    {"torch", "CharStorage", pickle_role::storage, "i8", "", 1},
    {"torch", "ByteStorage", pickle_role::storage, "u8", "", 1},
    {"torch", "BoolStorage", pickle_role::storage, "bool", "", 1},
    {"torch", "ComplexFloatStorage", pickle_role::storage, "f32", "complex64", 8},
    {"torch", "ComplexDoubleStorage", pickle_role::storage, "f64", "complex128", 16},
    {"torch", "ComplexHalfStorage", pickle_role::storage, "f16", "complex32", 4},
    {"torch", "QInt8Storage", pickle_role::storage, "i8", "", 1},
    {"torch", "QUInt8Storage", pickle_role::storage, "u8", "", 1},
    {"torch", "QInt32Storage", pickle_role::storage, "i32", "", 4},
    {"torch", "QUInt4x2Storage", pickle_role::storage, "u8", "", 1},
    {"torch", "QUInt2x4Storage", pickle_role::storage, "u8", "", 1},
    {"torch", "UntypedStorage", pickle_role::untyped_storage, "u8", "", 1},
    {"torch.storage", "UntypedStorage", pickle_role::untyped_storage, "u8", "", 1},
    {"torch", "float64", pickle_role::dtype, "f64", "", 8},
    {"torch", "float32", pickle_role::dtype, "f32", "", 4},
    {"torch", "float16", pickle_role::dtype, "f16", "", 2},
    {"torch", "bfloat16", pickle_role::dtype, "bf16", "", 2},
    {"torch", "int64", pickle_role::dtype, "i64", "", 8},
    {"torch", "int32", pickle_role::dtype, "i32", "", 4},
    {"torch", "int16", pickle_role::dtype, "i16", "", 2},
    {"torch", "int8", pickle_role::dtype, "i8", "", 1},
    {"torch", "uint64", pickle_role::dtype, "u64", "", 8},
    {"torch", "uint32", pickle_role::dtype, "u32", "", 4},
    {"torch", "uint16", pickle_role::dtype, "u16", "", 2},
    {"torch", "uint8", pickle_role::dtype, "u8", "", 1},
    {"torch", "bool", pickle_role::dtype, "bool", "", 1},
    {"torch", "complex32", pickle_role::dtype, "f16", "complex32", 4},
    {"torch", "qint8", pickle_role::dtype, "i8", "", 1},
    {"torch", "quint8", pickle_role::dtype, "u8", "", 1},
    {"torch", "qint32", pickle_role::dtype, "i32", "", 4},
    {"torch", "per_tensor_affine", pickle_role::scheme},
    {"torch", "per_channel_affine", pickle_role::scheme},
    {"torch", "per_channel_affine_float_qparams", pickle_role::scheme},
    {"torch", "complex64", pickle_role::dtype, "f32", "complex64", 8},
    {"torch", "complex128", pickle_role::dtype, "f64", "complex128", 16},
    {"torch", "float8_e4m3fn", pickle_role::dtype, "u8", "f8_e4m3fn", 1},
    {"torch", "float8_e5m2", pickle_role::dtype, "u8", "f8_e5m2", 1},
    {"torch", "float8_e4m3fnuz", pickle_role::dtype, "u8", "f8_e4m3fnuz", 1},
    {"torch", "float8_e5m2fnuz", pickle_role::dtype, "u8", "f8_e5m2fnuz", 1},
    {"torch", "float8_e8m0fnu", pickle_role::dtype, "u8", "f8_e8m0", 1},
    {"torch", "float4_e2m1fn_x2", pickle_role::dtype, "u8", "f4_e2m1fn_x2", 1},
};

/// Null for a name that is not on the list. Python 2 calls its own names otherwise, and storages of other devices have
/// the names of those of the CPU.
[[nodiscard]] constexpr const pickle_global* find_pickle_global(std::string_view module,
                                                                std::string_view name) noexcept {
    const bool is_python_2 = module == "__builtin__";
    const bool is_of_device = module == "torch.cuda";
    for (const pickle_global& each : pickle_globals) {
        const std::string_view known = is_python_2    ? std::string_view("builtins")
                                       : is_of_device ? std::string_view("torch")
                                                      : module;
        if (each.name == name && each.module == known && (!is_of_device || each.role == pickle_role::storage)) {
            return &each;
        }
    }
    return nullptr;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
