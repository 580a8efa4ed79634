// SPDX-License-Identifier: MIT
//
// Headers of .npy and .safetensors files.
#ifndef ZTENSOR_DETAIL_TRANSFER_EXPORT_HEADERS_HPP
#define ZTENSOR_DETAIL_TRANSFER_EXPORT_HEADERS_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/transfer/exported_tensor.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- npy header
//
// The header of a .npy file, as numpy.save writes it.

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

// -- safetensors header
//
// The header of a safetensors file: JSON as that format's own library writes it.

struct safetensors_word {
    std::string_view name;
    dtype storage;
    std::string_view type;  ///< logical
    std::uint64_t bits = 0; ///< of an element, where that is less than a byte: its storage is packed
};

/// In the order of that library's own enumeration, in which its files have the last ones first.
inline constexpr safetensors_word safetensors_words[] = {
    {"BOOL", dtype::boolean, ""},
    {"F4", dtype::u8, "f4", 4},
    {"F6_E2M3", dtype::u8, "f6_e2m3", 6},
    {"F6_E3M2", dtype::u8, "f6_e3m2", 6},
    {"U8", dtype::u8, ""},
    {"I8", dtype::i8, ""},
    {"F8_E5M2", dtype::u8, "f8_e5m2"},
    {"F8_E4M3", dtype::u8, "f8_e4m3fn"},
    {"F8_E8M0", dtype::u8, "f8_e8m0"},
    {"F8_E4M3FNUZ", dtype::u8, "f8_e4m3fnuz"},
    {"F8_E5M2FNUZ", dtype::u8, "f8_e5m2fnuz"},
    {"I16", dtype::i16, ""},
    {"U16", dtype::u16, ""},
    {"F16", dtype::f16, ""},
    {"BF16", dtype::bf16, ""},
    {"I32", dtype::i32, ""},
    {"U32", dtype::u32, ""},
    {"F32", dtype::f32, ""},
    {"C64", dtype::f32, "complex64"},
    {"F64", dtype::f64, ""},
    {"I64", dtype::i64, ""},
    {"U64", dtype::u64, ""},
};

/// The row of what a tensor's elements are; the end of the table if there is none.
[[nodiscard]] inline const safetensors_word* safetensors_word_of(const exported_tensor& tensor) noexcept {
    const std::string_view type = tensor.type == "f4_e2m1" ? std::string_view("f4") : tensor.type; // of version 2
    return std::find_if(std::begin(safetensors_words), std::end(safetensors_words),
                        [&](const safetensors_word& row) { return row.storage == tensor.storage && row.type == type; });
}

/// `text`, which is UTF-8, as a JSON string: nothing is escaped that need not be.
inline void append_json_text(std::string& out, std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    constexpr std::string_view named = "\b\t\n\f\r\"\\";
    constexpr std::string_view names = "btnfr\"\\";
    out += '"';
    for (const char c : text) {
        const std::size_t name = named.find(c);
        if (name != std::string_view::npos) {
            out += {'\\', names[name]};
        } else if (static_cast<unsigned char>(c) < 0x20) {
            const char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
            out.append(escape, sizeof escape);
        } else {
            out += c;
        }
    }
    out += '"';
}

/// Errors: not_expressible, for a value that is not text.
[[nodiscard]] inline result<void> append_json_metadata(std::string& out, const attributes_view& attributes) {
    std::vector<std::pair<std::string, std::string>> texts;
    for (const attribute& each : attributes) {
        cbor_cursor value(each.cbor);
        std::string text;
        if (!value.read_joined(cbor_major::text, text)) {
            return not_in_format("safetensors",
                                 sentence("place for the attribute {}, which is not text", {in_quotes(each.key)}));
        }
        texts.emplace_back(each.key, std::move(text));
    }
    std::sort(texts.begin(), texts.end());
    out += "\"__metadata__\":{";
    for (const auto& [key, text] : texts) {
        append_json_text(out, key);
        out += ':';
        append_json_text(out, text);
        out += ',';
    }
    if (!texts.empty()) {
        out.pop_back();
    }
    out += "},";
    return {};
}

inline void append_json_tensor(std::string& out, const exported_tensor& tensor, std::uint64_t begin) {
    append_json_text(out, tensor.name);
    out += sentence(":{\"dtype\":\"{}\",\"shape\":[", {safetensors_word_of(tensor)->name});
    for (const std::uint64_t dimension : tensor.shape) {
        append_number(out, dimension);
        out += ',';
    }
    if (tensor.shape.rank() != 0) {
        out.pop_back();
    }
    out += sentence("],\"data_offsets\":[{},{}]},", {begin, begin + tensor.bytes});
}

/// The bytes of elements that are packed, as that library counts them; others have theirs. Errors: not_expressible.
[[nodiscard]] inline result<void> count_packed_bytes(exported_tensor& tensor, const safetensors_word& word) {
    if (word.bits == 0) {
        return {};
    }
    const std::optional<std::uint64_t> bits = checked_multiply(*tensor.shape.element_count(), word.bits);
    if (!bits || *bits % 8 != 0 || tensor.data.decoded_bytes() != *bits / 8) {
        return not_in_format("safetensors", sentence("{} of this shape in so many bytes", {word.name}));
    }
    tensor.bytes = *bits / 8;
    return {};
}

/// Sorts the tensors as they will stand in the file. Errors: not_expressible.
[[nodiscard]] inline result<void> order_for_safetensors(std::vector<exported_tensor>& tensors) {
    for (exported_tensor& each : tensors) {
        const safetensors_word* const word = safetensors_word_of(each);
        if (word == std::end(safetensors_words)) {
            return not_in_format("safetensors", sentence("type {}", {in_quotes(each.type)})).in_object(each.name);
        }
        if (result<void> packed = count_packed_bytes(each, *word); !packed) {
            return std::move(packed).error().in_object(each.name);
        }
        if (each.name == "__metadata__") {
            return not_in_format("safetensors", "tensor of this name, which it has for attributes")
                .in_object(each.name);
        }
    }
    std::sort(tensors.begin(), tensors.end(), [](const exported_tensor& a, const exported_tensor& b) {
        const safetensors_word* const of_a = safetensors_word_of(a);
        const safetensors_word* const of_b = safetensors_word_of(b);
        return of_a != of_b ? of_a > of_b : a.name < b.name;
    });
    return {};
}

/// All that stands before the data of tensors in that order; `attributes` may be null. Errors: not_expressible,
/// shape_overflow.
[[nodiscard]] inline result<std::string> make_safetensors_header(const std::vector<exported_tensor>& tensors,
                                                                 const attributes_view* attributes) {
    constexpr std::size_t length_bytes = 8;
    constexpr std::size_t data_alignment = 64;
    constexpr std::size_t most_header_bytes = 100'000'000; // that library reads no more
    std::string out(length_bytes, '\0');
    out += '{';
    if (attributes != nullptr) {
        ZTENSOR_TRY(append_json_metadata(out, *attributes));
    }
    std::uint64_t begin = 0;
    for (const exported_tensor& each : tensors) {
        const std::optional<std::uint64_t> end = checked_add(begin, each.bytes);
        if (!end) {
            return fail(errc::shape_overflow, "all tensors together need more bytes than 64 bits count");
        }
        append_json_tensor(out, each, begin);
        begin = *end;
    }
    if (out.back() == ',') {
        out.pop_back();
    }
    out += '}';
    out.resize((out.size() + data_alignment - 1) / data_alignment * data_alignment, ' ');
    const std::size_t header_bytes = out.size() - length_bytes;
    if (header_bytes > most_header_bytes) {
        return not_in_format("safetensors",
                             sentence("header of {} bytes; {} is the most", {header_bytes, most_header_bytes}));
    }
    for (std::size_t i = 0; i < length_bytes; ++i) {
        out[i] = static_cast<char>(static_cast<std::uint64_t>(header_bytes) >> (8 * i) & 0xff);
    }
    return out;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
