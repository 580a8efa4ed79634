// SPDX-License-Identifier: MIT
//
// ONNX: messages of tensors and attributes.
#ifndef ZTENSOR_DETAIL_IMPORT_ONNX_TENSOR_HPP
#define ZTENSOR_DETAIL_IMPORT_ONNX_TENSOR_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/protobuf.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- onnx tensor
//
// ONNX's TensorProto: what it says, and the elements that stand in it one by one.

/// Where elements may stand that are not raw.
enum class onnx_field : std::uint8_t { none = 0, floats = 4, int32s = 5, int64s = 7, doubles = 10, uint64s = 11 };

struct onnx_type {
    std::uint64_t number; ///< of TensorProto.DataType
    std::string_view dtype;
    std::string_view type;
    std::uint8_t bits; ///< of an element, where it is raw
    onnx_field field;
    std::uint8_t bytes; ///< that one number of the field stands for; 0 where it is one element of six bits
};

/// Types narrower than a byte are bytes of a logical type; two or four elements share one, four of six bits three.
inline constexpr onnx_type onnx_types[] = {
    {1, "f32", "", 32, onnx_field::floats, 4},
    {2, "u8", "", 8, onnx_field::int32s, 1},
    {3, "i8", "", 8, onnx_field::int32s, 1},
    {4, "u16", "", 16, onnx_field::int32s, 2},
    {5, "i16", "", 16, onnx_field::int32s, 2},
    {6, "i32", "", 32, onnx_field::int32s, 4},
    {7, "i64", "", 64, onnx_field::int64s, 8},
    {9, "bool", "", 8, onnx_field::int32s, 1},
    {10, "f16", "", 16, onnx_field::int32s, 2},
    {11, "f64", "", 64, onnx_field::doubles, 8},
    {12, "u32", "", 32, onnx_field::uint64s, 4},
    {13, "u64", "", 64, onnx_field::uint64s, 8},
    {14, "f32", "complex64", 64, onnx_field::floats, 4},
    {15, "f64", "complex128", 128, onnx_field::doubles, 8},
    {16, "bf16", "", 16, onnx_field::int32s, 2},
    {17, "u8", "f8_e4m3fn", 8, onnx_field::int32s, 1},
    {18, "u8", "f8_e4m3fnuz", 8, onnx_field::int32s, 1},
    {19, "u8", "f8_e5m2", 8, onnx_field::int32s, 1},
    {20, "u8", "f8_e5m2fnuz", 8, onnx_field::int32s, 1},
    {21, "u8", "u4", 4, onnx_field::int32s, 1},
    {22, "u8", "i4", 4, onnx_field::int32s, 1},
    {23, "u8", "f4", 4, onnx_field::int32s, 1},
    {24, "u8", "f8_e8m0", 8, onnx_field::int32s, 1},
    {25, "u8", "u2", 2, onnx_field::int32s, 1},
    {26, "u8", "i2", 2, onnx_field::int32s, 1},
    {27, "u8", "f6_e2m3", 6, onnx_field::int32s, 0},
    {28, "u8", "f6_e3m2", 6, onnx_field::int32s, 0},
};

[[nodiscard]] constexpr const onnx_type* find_onnx_type(std::uint64_t number) noexcept {
    for (const onnx_type& each : onnx_types) {
        if (each.number == number) {
            return &each;
        }
    }
    return nullptr;
}

struct file_range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

/// What a TensorProto says.
struct onnx_tensor {
    std::string name;
    std::vector<std::uint64_t> dimensions;
    std::uint64_t type = 0;
    std::optional<file_range> raw;
    file_range message;                  ///< all of it
    onnx_field field = onnx_field::none; ///< of elements that are not raw
    bool has_two_fields = false;         ///< contradicts itself
    std::uint64_t pieces = 0;            ///< of that field, and where they are
    file_range only_piece;
    std::uint64_t piece_bytes = 0; ///< of all; of numbers that are not packed at least as many as there are
    bool is_external = false;
    std::string location; ///< of external data; of each entry the last one
    std::optional<std::string> external_offset;
    std::optional<std::string> external_length;
};

/// One StringStringEntryProto that ends at `end`.
[[nodiscard]] inline result<std::pair<std::string, std::string>> read_onnx_entry(proto_reader& from,
                                                                                 std::uint64_t end) {
    std::pair<std::string, std::string> entry;
    while (from.position() < end) {
        ZTENSOR_TRY_ASSIGN(const proto_field field, from.next(end));
        if (field.number != 1 && field.number != 2) {
            ZTENSOR_TRY(from.skip(field));
            continue;
        }
        ZTENSOR_TRY_ASSIGN(std::string text, from.text(field));
        (field.number == 1 ? entry.first : entry.second) = std::move(text);
    }
    return entry;
}

/// Calls `take(value)` for each number of a field that may be packed.
template <class Take>
[[nodiscard]] result<void> take_onnx_numbers(proto_reader& from, const proto_field& field, std::size_t width,
                                             Take&& take) {
    if (field.type != wire_type::bytes) {
        return take(field.value);
    }
    const std::uint64_t end = from.position() + field.value;
    while (from.position() < end) {
        std::uint64_t value = 0;
        result<void> read = width == 0 ? from.take_varint(value, end) : from.take_fixed(width, value, end);
        read = read ? take(value) : std::move(read);
        if (!read) {
            return read;
        }
    }
    return {};
}

class onnx_tensor_reader {
public:
    onnx_tensor_reader(proto_reader& from, std::uint64_t end) : from_(from), end_(end) {
        made_.message = {from.position(), end - from.position()};
    }

    [[nodiscard]] result<onnx_tensor> read() {
        while (from_.position() < end_) {
            ZTENSOR_TRY_ASSIGN(const proto_field field, from_.next(end_));
            ZTENSOR_TRY(take(field));
        }
        return std::move(made_);
    }

private:
    [[nodiscard]] result<void> take(const proto_field& field) {
        switch (field.number) {
        case 1:
            return take_onnx_numbers(from_, field, 0, [&](std::uint64_t size) { return add_dimension(size); });
        case 2:
            made_.type = field.value;
            return from_.skip(field);
        case 4:
        case 5:
        case 7:
        case 10:
        case 11:
            return note_piece(field);
        case 8:
            return take_text(field, made_.name);
        case 9:
            made_.raw = file_range{from_.position(), field.value};
            return field.type == wire_type::bytes ? from_.skip(field) : not_bytes();
        case 13:
            return take_entry(field);
        case 14:
            made_.is_external = field.value == 1;
            return from_.skip(field);
        default:
            return from_.skip(field);
        }
    }

    [[nodiscard]] result<void> add_dimension(std::uint64_t size) {
        constexpr std::size_t most_dimensions = 64; // as everywhere
        if (size >> 63 != 0 || made_.dimensions.size() == most_dimensions) {
            return fail(errc::header_malformed, "a tensor has a negative dimension, or more than {}", {most_dimensions})
                .in_object(made_.name)
                .at(from_.position());
        }
        made_.dimensions.push_back(size);
        return {};
    }

    [[nodiscard]] result<void> note_piece(const proto_field& field) {
        const auto kind = static_cast<onnx_field>(field.number);
        const bool is_packed = field.type == wire_type::bytes;
        const wire_type single = kind == onnx_field::floats    ? wire_type::fixed_32
                                 : kind == onnx_field::doubles ? wire_type::fixed_64
                                                               : wire_type::varint;
        if (!is_packed && field.type != single) {
            return fail(errc::header_malformed, "a number of a tensor has another wire type than its field")
                .in_object(made_.name)
                .at(from_.position());
        }
        if (is_packed && field.value == 0) {
            return {};
        }
        made_.has_two_fields = made_.has_two_fields || (made_.field != onnx_field::none && made_.field != kind);
        made_.field = kind;
        made_.only_piece = {from_.position(), field.value};
        const std::uint64_t single_bytes = single == wire_type::varint ? 1 : single == wire_type::fixed_32 ? 4 : 8;
        made_.pieces += is_packed ? 1 : 2; // one that is not packed is no range of elements
        made_.piece_bytes += is_packed ? field.value : single_bytes;
        return from_.skip(field);
    }

    [[nodiscard]] result<void> take_text(const proto_field& field, std::string& text) {
        ZTENSOR_TRY_ASSIGN(std::string read, from_.text(field));
        text = std::move(read);
        return {};
    }

    [[nodiscard]] result<void> take_entry(const proto_field& field) {
        ZTENSOR_TRY_ASSIGN(const std::uint64_t end, from_.message(field));
        ZTENSOR_TRY_ASSIGN(auto entry, read_onnx_entry(from_, end));
        auto& [key, value] = entry;
        if (key == "location") {
            made_.location = std::move(value);
        } else if (key == "offset") {
            made_.external_offset = std::move(value);
        } else if (key == "length") {
            made_.external_length = std::move(value);
        } // else a checksum, perhaps
        return {};
    }

    [[nodiscard]] error not_bytes() const {
        return fail(errc::header_malformed, "raw_data is no bytes").in_object(made_.name).at(from_.position());
    }

    proto_reader& from_;
    std::uint64_t end_;
    onnx_tensor made_;
};

/// Elements that stand in a message as numbers of their own.
class onnx_numbers final : public made_bytes {
public:
    /// Checked before: as many numbers fill as many bytes as will be asked for.
    onnx_numbers(const byte_source& source, file_range message, std::uint64_t field, const onnx_type& type,
                 std::uint64_t count)
        : source_(source), message_(message), field_(field), type_(type), count_(count) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        const std::uint64_t end = message_.offset + message_.length;
        header_stream stream(source_, message_.offset, end, message_.length);
        proto_reader from(stream);
        const bool is_fixed = type_.field == onnx_field::floats || type_.field == onnx_field::doubles;
        std::uint64_t done = 0;
        const auto store = [&](std::uint64_t value) -> result<void> {
            if (done == count_) {
                return wrong_count();
            }
            store_number(value, done++, destination);
            return {};
        };
        while (from.position() < end) {
            ZTENSOR_TRY_ASSIGN(const proto_field field, from.next(end));
            const bool is_wanted = field.number == field_;
            result<void> taken =
                is_wanted ? take_onnx_numbers(from, field, is_fixed ? type_.bytes : 0, store) : from.skip(field);
            if (!taken) {
                return taken;
            }
        }
        return done == count_ ? result<void>() : wrong_count();
    }

private:
    [[nodiscard]] error wrong_count() const {
        return fail(errc::size_mismatch, "the tensor has other than the {} numbers that its shape needs", {count_});
    }

    void store_number(std::uint64_t value, std::uint64_t place, span<std::byte> destination) const noexcept {
        if (type_.bytes != 0) {
            return store_little(value, destination.data() + static_cast<std::size_t>(place) * type_.bytes, type_.bytes);
        }
        if (place == 0) {
            std::memset(destination.data(), 0, destination.size());
        }
        const std::uint64_t first_bit = place * type_.bits; // which were counted
        const std::uint64_t bits = (value & 0x3f) << first_bit % 8;
        const auto first = static_cast<std::size_t>(first_bit / 8);
        destination[first] |= static_cast<std::byte>(bits & 0xff);
        if (bits > 0xff) {
            destination[first + 1] |= static_cast<std::byte>(bits >> 8);
        }
    }

    const byte_source& source_;
    file_range message_;
    std::uint64_t field_; ///< of the message, which the numbers stand in
    const onnx_type& type_;
    std::uint64_t count_;
};

/// A number that stands in a message as a varint, or that a writer left out because it is 0.
class onnx_scalar final : public made_bytes {
public:
    explicit onnx_scalar(std::uint64_t bits) noexcept : bits_(bits) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        store_little(bits_, destination.data(), destination.size());
        return {};
    }

private:
    std::uint64_t bits_;
};

// -- onnx attribute
//
// ONNX's NodeProto and AttributeProto: what they say, without the tensors and graphs in them.

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
