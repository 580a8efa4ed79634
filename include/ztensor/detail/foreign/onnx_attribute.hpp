// SPDX-License-Identifier: MIT
//
// ONNX's NodeProto and AttributeProto: what they say, without the tensors and graphs in them.
#ifndef ZTENSOR_DETAIL_FOREIGN_ONNX_ATTRIBUTE_HPP
#define ZTENSOR_DETAIL_FOREIGN_ONNX_ATTRIBUTE_HPP

#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/onnx_tensor.hpp>
#include <ztensor/detail/foreign/protobuf.hpp>
#include <ztensor/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Numbers of fields.
struct onnx_node_field {
    static constexpr std::uint64_t output = 2, name = 3, op_type = 4, attribute = 5, domain = 7;
};
struct onnx_attribute_field {
    static constexpr std::uint64_t name = 1, f = 2, i = 3, s = 4, t = 5, g = 6, floats = 7, ints = 8, strings = 9,
                                   tensors = 10, graphs = 11, type = 20, ref_attr_name = 21, sparse_tensor = 22,
                                   sparse_tensors = 23;
};
/// Of AttributeProto.AttributeType.
struct onnx_attribute_type {
    static constexpr std::uint64_t number = 1, integer = 2, text = 3, numbers = 6, integers = 7, texts = 8;
};

/// What a NodeProto says of itself.
struct onnx_node {
    std::string name;
    std::string output; ///< the first
    std::string op_type;
    std::string domain;
    bool has_attributes = false;

    /// What its attributes are called after.
    [[nodiscard]] const std::string& label() const noexcept { return name.empty() ? output : name; }
    [[nodiscard]] bool is_standard() const noexcept { return domain.empty() || domain == "ai.onnx"; }
};

/// What an AttributeProto says. Writers of proto3 leave out a number that is 0: then the type alone tells.
struct onnx_attribute {
    std::string name;
    file_range message;
    std::uint64_t type = 0;
    std::uint64_t float_bits = 0;
    std::uint64_t integer = 0;
    std::uint64_t text_bytes = 0;
    std::uint64_t floats = 0; ///< how many of each
    std::uint64_t ints = 0;
    std::uint64_t texts = 0;
    std::uint64_t tensors = 0; ///< dense and sparse ones
    bool has_float = false;
    bool has_integer = false;
    bool has_text = false;
    bool has_graphs = false;
    bool is_reference = false; ///< to an attribute of the function that the node is in
};

/// Reads text into `text`, if the field is that.
[[nodiscard]] inline result<void> take_onnx_text(proto_reader& from, const proto_field& field, std::string& text) {
    ZTENSOR_TRY_ASSIGN(std::string read, from.text(field));
    text = std::move(read);
    return {};
}

/// The NodeProto that ends at `end`.
[[nodiscard]] inline result<onnx_node> read_onnx_node(proto_reader& from, std::uint64_t end) {
    onnx_node node;
    bool has_output = false;
    const result<void> read = from.for_each_field(end, [&](const proto_field& field) {
        switch (field.number) {
        case onnx_node_field::output:
            return std::exchange(has_output, true) ? from.skip(field) : take_onnx_text(from, field, node.output);
        case onnx_node_field::name:
            return take_onnx_text(from, field, node.name);
        case onnx_node_field::op_type:
            return take_onnx_text(from, field, node.op_type);
        case onnx_node_field::domain:
            return take_onnx_text(from, field, node.domain);
        case onnx_node_field::attribute:
            node.has_attributes = true;
            return from.skip(field);
        default:
            return from.skip(field);
        }
    });
    return read ? result<onnx_node>(std::move(node)) : read.error();
}

/// The AttributeProto that ends at `end`.
[[nodiscard]] inline result<onnx_attribute> read_onnx_attribute(proto_reader& from, std::uint64_t end) {
    using of = onnx_attribute_field;
    onnx_attribute read;
    read.message = {from.position(), end - from.position()};
    const auto count = [&](std::uint64_t& numbers) {
        return [&numbers](std::uint64_t) {
            ++numbers;
            return result<void>();
        };
    };
    const result<void> done = from.for_each_field(end, [&](const proto_field& field) -> result<void> {
        switch (field.number) {
        case of::name:
            return take_onnx_text(from, field, read.name);
        case of::f:
            read.float_bits = field.value;
            read.has_float = true;
            break;
        case of::i:
            read.integer = field.value;
            read.has_integer = true;
            break;
        case of::s:
            read.text_bytes = field.value;
            read.has_text = true;
            break;
        case of::floats:
            return take_onnx_numbers(from, field, 4, count(read.floats));
        case of::ints:
            return take_onnx_numbers(from, field, 0, count(read.ints));
        case of::strings:
            ++read.texts;
            break;
        case of::t:
        case of::tensors:
        case of::sparse_tensor:
        case of::sparse_tensors:
            ++read.tensors;
            break;
        case of::g:
        case of::graphs:
            read.has_graphs = true;
            break;
        case of::type:
            read.type = field.value;
            break;
        case of::ref_attr_name:
            read.is_reference = field.value != 0;
            break;
        default:
            break;
        }
        return from.skip(field);
    });
    return done ? result<onnx_attribute>(std::move(read)) : done.error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
