// SPDX-License-Identifier: MIT
//
// The closed list of names that a pickled checkpoint may use, and what each stands for. Nothing outside of it is known,
// and nothing on it is ever run: each is a row of a table.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_GLOBALS_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_GLOBALS_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

enum class pickle_role : std::uint8_t {
    dictionary,      ///< makes an empty one
    tuple,           ///< makes one of its argument
    tensor,          ///< makes a tensor of a typed storage
    tensor_of_dtype, ///< makes a tensor of an untyped storage and a dtype
    parameter,       ///< is the tensor that it is made of
    storage,         ///< the class of a typed storage
    untyped_storage, ///< of bytes
    dtype,           ///< a constant
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
    {"torch", "Size", pickle_role::tuple},
    {"torch._utils", "_rebuild_tensor_v2", pickle_role::tensor},
    {"torch._utils", "_rebuild_tensor_v3", pickle_role::tensor_of_dtype},
    {"torch._utils", "_rebuild_parameter", pickle_role::parameter},
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
    {"torch", "complex64", pickle_role::dtype, "f32", "complex64", 8},
    {"torch", "complex128", pickle_role::dtype, "f64", "complex128", 16},
    {"torch", "float8_e4m3fn", pickle_role::dtype, "u8", "f8_e4m3fn", 1},
    {"torch", "float8_e5m2", pickle_role::dtype, "u8", "f8_e5m2", 1},
    {"torch", "float8_e4m3fnuz", pickle_role::dtype, "u8", "f8_e4m3fnuz", 1},
    {"torch", "float8_e5m2fnuz", pickle_role::dtype, "u8", "f8_e5m2fnuz", 1},
    {"torch", "float8_e8m0fnu", pickle_role::dtype, "u8", "f8_e8m0", 1},
    {"torch", "float4_e2m1fn_x2", pickle_role::dtype, "u8", "f4_e2m1fn_x2", 1},
};

/// Null for a name that is not on the list.
[[nodiscard]] constexpr const pickle_global* find_pickle_global(std::string_view module,
                                                                std::string_view name) noexcept {
    for (const pickle_global& each : pickle_globals) {
        if (each.name == name && each.module == module) {
            return &each;
        }
    }
    return nullptr;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
