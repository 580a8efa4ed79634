// SPDX-License-Identifier: MIT
//
// The header of a .npy file, as numpy.save writes it.
#ifndef ZTENSOR_DETAIL_EXPORT_NPY_HEADER_HPP
#define ZTENSOR_DETAIL_EXPORT_NPY_HEADER_HPP

#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/export/exported_tensor.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// No header that make_npy_header() makes is longer.
inline constexpr std::uint64_t longest_npy_header_bytes = 65536;

/// NumPy's word for what a tensor's elements are; "" if it has none.
[[nodiscard]] inline std::string_view npy_type_of(const exported_tensor& tensor) noexcept {
    if (tensor.type == "complex64") {
        return "<c8";
    }
    if (tensor.type == "complex128") {
        return "<c16";
    }
    if (!tensor.type.empty()) {
        return "";
    }
    switch (tensor.storage) {
    case dtype::f64:
        return "<f8";
    case dtype::f32:
        return "<f4";
    case dtype::f16:
        return "<f2";
    case dtype::i64:
        return "<i8";
    case dtype::i32:
        return "<i4";
    case dtype::i16:
        return "<i2";
    case dtype::i8:
        return "|i1";
    case dtype::u64:
        return "<u8";
    case dtype::u32:
        return "<u4";
    case dtype::u16:
        return "<u2";
    case dtype::u8:
        return "|u1";
    case dtype::boolean:
        return "|b1";
    case dtype::bf16:
        break;
    }
    return "";
}

/// "(2, 3)", "(2,)", "()"
[[nodiscard]] inline std::string npy_shape_text(const shape& dimensions) {
    std::string out = "(";
    for (const std::uint64_t dimension : dimensions) {
        append_number(out, dimension);
        out += ", ";
    }
    if (dimensions.rank() == 0) {
        return out += ')';
    }
    out.resize(out.size() - (dimensions.rank() == 1 ? 1 : 2));
    return out += ')';
}

/// Everything before the elements: a multiple of 64 bytes. Version 1.0, since 64 dimensions take less than 64 KiB.
/// Errors: not_expressible.
[[nodiscard]] inline result<std::string> make_npy_header(const exported_tensor& tensor) {
    constexpr std::size_t growing_dimension_digits = 21; // room that NumPy leaves to append rows in place
    constexpr std::size_t prefix_bytes = 10;
    constexpr std::size_t alignment = 64;
    const std::string_view type = npy_type_of(tensor);
    if (type.empty()) {
        return not_in_format("NumPy",
                             sentence("type {}", {in_quotes(tensor.type.empty() ? name(tensor.storage) : tensor.type)}))
            .in_object(tensor.name);
    }
    std::string text =
        sentence("{'descr': '{}', 'fortran_order': False, 'shape': {}, }", {type, npy_shape_text(tensor.shape)});
    if (tensor.shape.rank() != 0) {
        text.append(growing_dimension_digits - std::to_string(tensor.shape[0]).size(), ' ');
    }
    const std::size_t unpadded = prefix_bytes + text.size() + 1;
    text.append(alignment - unpadded % alignment, ' '); // a whole 64 where none are needed, too
    text += '\n';
    std::string out("\x93NUMPY\x01\x00", 8);
    out += {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
    return out += text;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
