// SPDX-License-Identifier: MIT
//
// Protocol buffers; and ONNX: messages of tensors, and elements that do not lie in them as they are.
#ifndef ZTENSOR_DETAIL_IMPORT_ONNX_TENSOR_HPP
#define ZTENSOR_DETAIL_IMPORT_ONNX_TENSOR_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- protobuf
//
// Protocol buffers as bytes: one field after another, of which the caller takes what it knows and passes over the rest.
// Knows no message.

enum class wire_type : uint8_t { varint = 0, fixed_64 = 1, bytes = 2, fixed_32 = 5 };

struct proto_field {
    uint64_t number = 0;
    wire_type type = wire_type::varint;
    uint64_t value = 0; ///< of bytes, how many there are: they come next
};

/// Reads fields from a stream. Errors, which all calls share: header_malformed; those of the stream.
class proto_reader {
public:
    explicit proto_reader(header_stream& from) noexcept : from_(from) {}

    [[nodiscard]] uint64_t position() const noexcept { return from_.position(); }

    /// The next field of a message that ends at `end`; of bytes only their number is taken.
    result<proto_field> next(uint64_t end) {
        proto_field field;
        uint64_t tag = 0;
        ZTENSOR_TRY(take_varint(tag, end));
        field.number = tag >> 3;
        field.type = static_cast<wire_type>(tag & 7);
        if (field.number == 0 || field.number > most_field_number) {
            return malformed("a field has a number that no field can have");
        }
        switch (field.type) {
        case wire_type::varint:
            ZTENSOR_TRY(take_varint(field.value, end));
            return field;
        case wire_type::fixed_32:
            ZTENSOR_TRY(take_fixed(4, field.value, end));
            return field;
        case wire_type::fixed_64:
            ZTENSOR_TRY(take_fixed(8, field.value, end));
            return field;
        case wire_type::bytes:
            ZTENSOR_TRY(take_varint(field.value, end));
            return field.value <= end - from_.position() ? result<proto_field>(field)
                                                         : malformed("a field reaches beyond what it is in");
        default:
            return malformed("a field is of a wire type that is none, or a group");
        }
    }

    /// The field's bytes are passed over.
    result<void> skip(const proto_field& field) {
        return field.type != wire_type::bytes || from_.skip(field.value) ? result<void>() : from_.failure();
    }

    /// Goes on at that byte.
    void seek(uint64_t position) noexcept { from_.seek(position); }

    /// The field's bytes as text; it must be of bytes.
    result<void> take_text(const proto_field& field, string& text) {
        bytes_view bytes;
        if (field.type != wire_type::bytes) {
            return wrong_type();
        }
        if (!from_.take(field.value, bytes)) {
            return from_.failure();
        }
        text = as_text(bytes);
        return {};
    }

    /// Calls `take(field)` for each field of a message that ends at `end`; it takes the field's bytes or skips them.
    template <class Take>
    result<void> for_each_field(uint64_t end, Take&& take) {
        while (position() < end) {
            ZTENSOR_TRY_ASSIGN(const proto_field field, next(end));
            ZTENSOR_TRY(take(field));
        }
        return {};
    }
    /// Calls `read(end)` for the message that the field is.
    template <class Read>
    result<void> in_message(const proto_field& field, Read&& read) {
        return field.type == wire_type::bytes ? read(from_.position() + field.value) : wrong_type();
    }

    /// Calls `take(value)` for each number of a field that may be packed, as numbers of `width` bytes, or varints for
    /// 0.
    template <class Take>
    result<void> for_each_number(const proto_field& field, size_t width, Take&& take) {
        if (field.type != wire_type::bytes) {
            return take(field.value);
        }
        const uint64_t end = position() + field.value;
        while (position() < end) {
            uint64_t value = 0;
            ZTENSOR_TRY(width == 0 ? take_varint(value, end) : take_fixed(width, value, end));
            ZTENSOR_TRY(take(value));
        }
        return {};
    }

    /// Seven bits a byte, the lowest first; at most ten bytes.
    result<void> take_varint(uint64_t& value, uint64_t end) {
        return from_.position() < end && from_.take_small(value) ? result<void>() : take_long_varint(value, end);
    }
    result<void> take_fixed(size_t size, uint64_t& value, uint64_t end) {
        if (size > end - from_.position()) {
            return malformed("a message breaks off within a field");
        }
        return from_.take_unsigned(size, false, value) ? result<void>() : from_.failure();
    }

private:
    static constexpr uint64_t most_field_number = (uint64_t{1} << 29) - 1;

    ZTENSOR_NOINLINE result<void> take_long_varint(uint64_t& value, uint64_t end) {
        value = 0;
        for (unsigned shift = 0;; shift += 7) {
            uint64_t byte = 0;
            if (from_.position() == end) {
                return malformed("a message breaks off within a field");
            }
            if (!from_.take_byte(byte)) {
                return from_.failure();
            }
            if (shift == 63 && byte > 1) {
                return malformed("a number has more than 64 bits");
            }
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) {
                return {};
            }
        }
    }
    [[nodiscard]] error wrong_type() const {
        return malformed("a field that is text or a message has another wire type");
    }
    [[nodiscard]] ZTENSOR_COLD error malformed(const char* what) const {
        return fail(errc::header_malformed, what).at(from_.position());
    }

    header_stream& from_;
};

// -- onnx tensor
//
// ONNX's TensorProto: what it says, and the elements that stand in it one by one.

/// Where elements may stand that are not raw.
enum class onnx_field : uint8_t { none = 0, floats = 4, int32s = 5, int64s = 7, doubles = 10, uint64s = 11 };

struct onnx_type {
    uint64_t number; ///< of TensorProto.DataType
    string_view dtype;
    string_view type;
    uint8_t bits; ///< of an element, where it is raw
    onnx_field field;
    uint8_t bytes; ///< that one number of the field stands for; 0 where it is one element of six bits
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

[[nodiscard]] inline const onnx_type* find_onnx_type(uint64_t number) noexcept {
    return find_row(onnx_types, &onnx_type::number, number);
}

struct file_range {
    uint64_t offset = 0;
    uint64_t length = 0;
};

/// What a TensorProto says.
struct onnx_tensor {
    string name;
    vector<uint64_t> dimensions;
    uint64_t type = 0;
    optional<file_range> raw;
    file_range message;                  ///< all of it
    onnx_field field = onnx_field::none; ///< of elements that are not raw
    bool has_two_fields = false;         ///< contradicts itself
    uint64_t pieces = 0;                 ///< of that field, and where they are
    file_range only_piece;
    uint64_t piece_bytes = 0; ///< of all; of numbers that are not packed at least as many as there are
    bool is_external = false;
    string location; ///< of external data; of each entry the last one
    optional<string> external_offset;
    optional<string> external_length;
};

/// One StringStringEntryProto that ends at `end`.
inline result<std::pair<string, string>> read_onnx_entry(proto_reader& from, uint64_t end) {
    std::pair<string, string> entry;
    const auto take = [&](const proto_field& field) {
        return field.number == 1   ? from.take_text(field, entry.first)
               : field.number == 2 ? from.take_text(field, entry.second)
                                   : from.skip(field);
    };
    ZTENSOR_TRY(from.for_each_field(end, take));
    return entry;
}

/// Numbers that are the dimensions of a tensor.
inline result<void> take_onnx_dimensions(proto_reader& from, const proto_field& field, vector<uint64_t>& dimensions) {
    return from.for_each_number(field, 0, [&](uint64_t size) -> result<void> {
        constexpr size_t most_dimensions = 64; // as everywhere
        if (size >> 63 != 0 || dimensions.size() == most_dimensions) {
            return fail(errc::header_malformed, "a tensor has a negative dimension, or more than {}", {most_dimensions})
                .at(from.position());
        }
        dimensions.push_back(size);
        return {};
    });
}

/// Notes where elements stand that are not raw.
inline result<void> note_onnx_piece(proto_reader& from, const proto_field& field, onnx_tensor& made) {
    const auto kind = static_cast<onnx_field>(field.number);
    const bool is_packed = field.type == wire_type::bytes;
    const wire_type single = kind == onnx_field::floats    ? wire_type::fixed_32
                             : kind == onnx_field::doubles ? wire_type::fixed_64
                                                           : wire_type::varint;
    if (!is_packed && field.type != single) {
        return fail(errc::header_malformed, "a number of a tensor has another wire type than its field")
            .in_object(made.name)
            .at(from.position());
    }
    if (is_packed && field.value == 0) {
        return {};
    }
    made.has_two_fields = made.has_two_fields || (made.field != onnx_field::none && made.field != kind);
    made.field = kind;
    made.only_piece = {from.position(), field.value};
    const uint64_t single_bytes = single == wire_type::varint ? 1 : single == wire_type::fixed_32 ? 4 : 8;
    made.pieces += is_packed ? 1 : 2; // one that is not packed is no range of elements
    made.piece_bytes += is_packed ? field.value : single_bytes;
    return from.skip(field);
}

/// The TensorProto that ends at `end`.
inline result<onnx_tensor> read_onnx_tensor(proto_reader& from, uint64_t tensor_end) {
    onnx_tensor made;
    made.message = {from.position(), tensor_end - from.position()};
    const auto take = [&](const proto_field& field) -> result<void> {
        switch (field.number) {
        case 1:
            return in_object(take_onnx_dimensions(from, field, made.dimensions), made.name);
        case 2:
            made.type = field.value;
            break;
        case 4:
        case 5:
        case 7:
        case 10:
        case 11:
            return note_onnx_piece(from, field, made);
        case 8:
            return from.take_text(field, made.name);
        case 9:
            if (field.type != wire_type::bytes) {
                return fail(errc::header_malformed, "raw_data is no bytes").in_object(made.name).at(from.position());
            }
            made.raw = file_range{from.position(), field.value};
            break;
        case 13:
            return from.in_message(field, [&](uint64_t end) -> result<void> {
                ZTENSOR_TRY_ASSIGN(auto entry, read_onnx_entry(from, end));
                if (entry.first == "location") {
                    made.location = std::move(entry.second);
                } else if (entry.first == "offset") {
                    made.external_offset = std::move(entry.second);
                } else if (entry.first == "length") {
                    made.external_length = std::move(entry.second);
                } // else a checksum, perhaps
                return {};
            });
        case 14:
            made.is_external = field.value == 1;
            break;
        default:
            break;
        }
        return from.skip(field);
    };
    ZTENSOR_TRY(from.for_each_field(tensor_end, take));
    return made;
}

/// A SparseTensorProto.
struct onnx_sparse_tensor {
    onnx_tensor values;
    onnx_tensor indices;
    vector<uint64_t> dimensions;
};

/// The SparseTensorProto that ends at `end`.
inline result<onnx_sparse_tensor> read_onnx_sparse(proto_reader& from, uint64_t sparse_end) {
    onnx_sparse_tensor read;
    const auto take = [&](const proto_field& field) -> result<void> {
        if (field.number != 1 && field.number != 2) {
            return field.number == 3 ? take_onnx_dimensions(from, field, read.dimensions) : from.skip(field);
        }
        return from.in_message(field, [&](uint64_t end) -> result<void> {
            ZTENSOR_TRY_ASSIGN((field.number == 1 ? read.values : read.indices), read_onnx_tensor(from, end));
            return {};
        });
    };
    result<void> done = from.for_each_field(sparse_end, take);
    return done ? result<onnx_sparse_tensor>(std::move(read)) : std::move(done).error().in_object(read.values.name);
}

// -- elements that are made

/// Elements that stand in a message as numbers of their own.
class onnx_numbers final : public made_bytes {
public:
    /// Checked before: as many numbers fill as many bytes as will be asked for.
    onnx_numbers(const byte_source& source, file_range message, uint64_t field, const onnx_type& type, uint64_t count)
        : source_(source), message_(message), field_(field), type_(type), count_(count) {}

    result<void> make(span<byte> destination) const override {
        const uint64_t end = message_.offset + message_.length;
        header_stream stream(source_, message_.offset, end, message_.length);
        proto_reader from(stream);
        const bool is_fixed = type_.field == onnx_field::floats || type_.field == onnx_field::doubles;
        uint64_t done = 0;
        const auto store = [&](uint64_t value) -> result<void> {
            if (done == count_) {
                return wrong_count();
            }
            store_number(value, done++, destination);
            return {};
        };
        const auto take = [&](const proto_field& field) {
            return field.number == field_ ? from.for_each_number(field, is_fixed ? type_.bytes : 0, store)
                                          : from.skip(field);
        };
        ZTENSOR_TRY(from.for_each_field(end, take));
        return done == count_ ? result<void>() : wrong_count();
    }

private:
    [[nodiscard]] error wrong_count() const {
        return fail(errc::size_mismatch, "the tensor has other than the {} numbers that its shape needs", {count_});
    }

    void store_number(uint64_t value, uint64_t place, span<byte> destination) const noexcept {
        if (type_.dtype == "bool") { // of an int32, whose lowest byte may be 0
            value = (value & 0xffffffff) != 0 ? 1 : 0;
        }
        if (type_.bytes != 0) {
            return store_little(value, destination.data() + static_cast<size_t>(place) * type_.bytes, type_.bytes);
        }
        if (place == 0) {
            std::memset(destination.data(), 0, destination.size());
        }
        const uint64_t first_bit = place * type_.bits; // which were counted
        const uint64_t bits = (value & 0x3f) << first_bit % 8;
        const auto first = static_cast<size_t>(first_bit / 8);
        destination[first] |= static_cast<byte>(bits & 0xff);
        if (bits > 0xff) {
            destination[first + 1] |= static_cast<byte>(bits >> 8);
        }
    }

    const byte_source& source_;
    file_range message_;
    uint64_t field_; ///< of the message, which the numbers stand in
    const onnx_type& type_;
    uint64_t count_;
};

/// A number that stands in a message as a varint, or that a writer left out because it is 0.
class onnx_scalar final : public made_bytes {
public:
    explicit onnx_scalar(uint64_t bits) noexcept : bits_(bits) {}

    result<void> make(span<byte> destination) const override {
        store_little(bits_, destination.data(), destination.size());
        return {};
    }

private:
    uint64_t bits_;
};

/// Indices are i64: one for each value, which counts through the dense tensor, or one for each value and dimension. A
/// negative one becomes a coordinate beyond any shape, and a linear one beyond the tensor a first coordinate that is.
class onnx_coordinates final : public made_bytes {
public:
    onnx_coordinates(const byte_source& source, const foreign_component& indices, vector<uint64_t> dimensions,
                     bool is_linear, uint64_t max_bytes)
        : source_(source), offset_(indices.offset), length_(indices.length), dimensions_(std::move(dimensions)),
          is_linear_(is_linear), max_bytes_(max_bytes) {}

    result<void> make(span<byte> destination) const override {
        if (destination.size() > max_bytes_ || length_ > max_bytes_ - destination.size()) {
            return fail(errc::limit_exceeded, "the indices take {} bytes, more than the {} allowed",
                        {length_, max_bytes_});
        }
        byte_buffer indices;
        ZTENSOR_TRY(allocate(indices, length_, "indices"));
        ZTENSOR_TRY(source_.read_at(offset_, indices.writable_bytes()));
        const size_t rank = dimensions_.size();
        const size_t count = rank == 0 ? 0 : destination.size() / 8 / rank;
        for (size_t i = 0; i < count; ++i) {
            uint64_t rest = is_linear_ ? load_little_64(indices.data() + i * 8) : 0;
            for (size_t dimension = rank; dimension-- != 0;) {
                uint64_t coordinate = rest;
                if (!is_linear_) {
                    coordinate = load_little_64(indices.data() + (i * rank + dimension) * 8);
                } else if (dimension != 0 && dimensions_[dimension] != 0) {
                    coordinate = rest % dimensions_[dimension];
                    rest /= dimensions_[dimension];
                }
                store_little(coordinate, destination.data() + (dimension * count + i) * 8, 8);
            }
        }
        return {};
    }

private:
    const byte_source& source_;
    uint64_t offset_;
    uint64_t length_;
    vector<uint64_t> dimensions_;
    bool is_linear_;
    uint64_t max_bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
