// SPDX-License-Identifier: MIT
//
// GGUF: the header and its key-value pairs.
#ifndef ZTENSOR_DETAIL_IMPORT_GGUF_HEADER_HPP
#define ZTENSOR_DETAIL_IMPORT_GGUF_HEADER_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <deque>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- gguf values
//
// The values of GGUF's key-values, of 13 kinds, as CBOR.

enum class gguf_kind : uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

/// The least that a value of that kind takes.
[[nodiscard]] constexpr size_t width_of(gguf_kind kind) noexcept {
    constexpr uint8_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
    return widths[static_cast<size_t>(kind)];
}
[[nodiscard]] constexpr bool is_signed(gguf_kind kind) noexcept {
    return kind == gguf_kind::i8 || kind == gguf_kind::i16 || kind == gguf_kind::i32 || kind == gguf_kind::i64;
}

class gguf_values {
public:
    explicit gguf_values(header_stream& header) noexcept : header_(header) {}

    void set_big_endian() noexcept { is_big_endian_ = true; }

    result<void> take(size_t size, uint64_t& value) {
        return header_.take_unsigned(size, is_big_endian_, value) ? result<void>() : header_.failure();
    }
    /// Bytes that stay until the next take.
    result<void> take_bytes(uint64_t size, bytes_view& bytes) {
        return header_.take(size, bytes) ? result<void>() : header_.failure();
    }

    /// The kind of a value and the value, which is appended to `out`.
    result<void> read(cbor_encoder& out) {
        open_array arrays[most_depth + 1];
        size_t depth = 0;
        gguf_kind kind = gguf_kind::u8;
        ZTENSOR_TRY(take_kind(kind));
        while (true) {
            if (kind != gguf_kind::array) {
                ZTENSOR_TRY(read_single(kind, out));
            } else {
                ZTENSOR_TRY(begin_array(arrays[depth], out));
                if (depth == most_depth) {
                    return fail(errc::header_malformed, "arrays are nested more than {} deep", {most_depth})
                        .at(header_.position());
                }
                ++depth;
            }
            while (depth != 0 && arrays[depth - 1].left == 0) {
                --depth;
            }
            if (depth == 0) {
                return {};
            }
            --arrays[depth - 1].left;
            kind = arrays[depth - 1].kind;
        }
    }

    /// A value that must be an integer of 0 or more, of that kind or, for an array, of any width, which is also given
    /// to the caller.
    result<void> read_count(string_view key, gguf_kind expected, uint64_t& value, cbor_encoder& out) {
        gguf_kind kind = gguf_kind::u8;
        ZTENSOR_TRY(take_kind(kind));
        const bool is_unsigned =
            kind == gguf_kind::u8 || kind == gguf_kind::u16 || kind == gguf_kind::u32 || kind == gguf_kind::u64;
        if (expected != gguf_kind::array && kind != expected) {
            return fail(errc::header_malformed, "{} is of kind {}, expected a u32 ({})",
                        {in_quotes(key), static_cast<unsigned>(kind), static_cast<unsigned>(expected)});
        }
        if (!is_signed(kind) && !is_unsigned) {
            return fail(errc::header_malformed, "{} is of kind {}, no integer",
                        {in_quotes(key), static_cast<unsigned>(kind)});
        }
        ZTENSOR_TRY(take(width_of(kind), value));
        if (is_signed(kind) && extend_sign(value, width_of(kind)) >> 63 != 0) {
            return fail(errc::header_malformed, "{} is negative", {in_quotes(key)});
        }
        out.unsigned_integer(value);
        return {};
    }

private:
    static constexpr size_t most_depth = 16;

    /// An array that has begun, and how many of its items are to come.
    struct open_array {
        gguf_kind kind = gguf_kind::u8;
        uint64_t left = 0;
    };

    result<void> take_kind(gguf_kind& kind) {
        uint64_t number = 0;
        ZTENSOR_TRY(take(4, number));
        if (number > static_cast<uint64_t>(gguf_kind::f64)) {
            return fail(errc::header_malformed, "a value is of kind {}, which GGUF does not have", {number})
                .at(header_.position() - 4);
        }
        kind = static_cast<gguf_kind>(number);
        return {};
    }

    result<void> begin_array(open_array& array, cbor_encoder& out) {
        ZTENSOR_TRY(take_kind(array.kind));
        ZTENSOR_TRY(take(8, array.left));
        if (array.left > header_.left() / width_of(array.kind)) {
            return fail(errc::truncated, "an array states {} values, more than the file has room for", {array.left})
                .at(header_.position() - 8);
        }
        out.begin_array(array.left);
        return {};
    }

    result<void> read_single(gguf_kind kind, cbor_encoder& out) {
        uint64_t bits = 0;
        ZTENSOR_TRY(take(width_of(kind), bits));
        switch (kind) {
        case gguf_kind::text: { // what is no UTF-8, as some tokens of vocabularies are, is kept as bytes
            bytes_view text;
            ZTENSOR_TRY(take_bytes(bits, text));
            is_utf8(as_text(text)) ? out.text(as_text(text)) : out.byte_string(text);
            return {};
        }
        case gguf_kind::boolean:
            if (bits > 1) {
                return fail(errc::header_malformed, "a bool is stored as {}, neither 0 nor 1", {bits})
                    .at(header_.position() - 1);
            }
            out.boolean(bits == 1);
            return {};
        case gguf_kind::f32:
            out.number(static_cast<double>(bits_as<float>(static_cast<uint32_t>(bits))));
            return {};
        case gguf_kind::f64:
            out.number(bits_as<double>(bits));
            return {};
        default:
            is_signed(kind) ? out.integer(bits_as<int64_t>(extend_sign(bits, width_of(kind))))
                            : out.unsigned_integer(bits);
            return {};
        }
    }

    header_stream& header_;
    bool is_big_endian_ = false;
};

// -- gguf header
//
// The header of a GGUF file, versions 2 and 3 of either byte order: key-values and the list of tensors.

/// The tensors of a file, without memory of each one's own.
struct gguf_tensors {
    struct record {
        uint64_t offset;    ///< in the source
        uint32_t name;      ///< where it begins among the names
        uint32_t dimension; ///< where the first begins among the dimensions
        uint32_t type;
        uint8_t name_bytes;
        uint8_t rank;
    };
    static_assert(sizeof(record) == 24); // what it takes in the file at least
    std::deque<record> records;          ///< which grows without copies, since their number is not known before
    string names;
    vector<uint64_t> dimensions; ///< outermost first, as ours

    [[nodiscard]] string_view name_of(const record& tensor) const noexcept {
        return string_view(names).substr(tensor.name, tensor.name_bytes);
    }
    [[nodiscard]] span<const uint64_t> shape_of(const record& tensor) const noexcept {
        return {dimensions.data() + tensor.dimension, tensor.rank};
    }
};

/// Which part of a model a file is, as its key-values say. A model in one file has one part, or says nothing of parts.
struct gguf_part {
    uint64_t number = 0; ///< from 0 on
    uint64_t count = 0;
    optional<uint64_t> tensors; ///< of all parts together
};

struct gguf_header {
    gguf_tensors tensors;
    gguf_part part;
    bool is_big_endian = false;
};

class gguf_header_reader {
public:
    /// The header of the file that lies at [begin, end) of `source` and starts with the magic of GGUF. Key-values
    /// become attributes of `index`, unless it is null.
    gguf_header_reader(const byte_source& source, uint64_t begin, uint64_t end, uint64_t most_bytes,
                       foreign_index* index)
        : header_(source, begin + magic_bytes, end, most_bytes), index_(index), begin_(begin), size_(end - begin) {}

    result<gguf_header> read() {
        uint64_t tensors = 0;
        uint64_t key_values = 0;
        ZTENSOR_TRY(read_version());
        ZTENSOR_TRY(values_.take(8, tensors));
        ZTENSOR_TRY(values_.take(8, key_values));
        if (key_values > header_.left() / least_key_value_bytes || tensors > header_.left() / least_tensor_bytes) {
            return fail(errc::truncated,
                        "the header states {} tensors and {} key-values, more than the file has room for",
                        {tensors, key_values});
        }
        for (uint64_t i = 0; i < key_values; ++i) {
            ZTENSOR_TRY(read_key_value());
        }
        for (uint64_t i = 0; i < tensors; ++i) {
            ZTENSOR_TRY(read_tensor());
        }
        ZTENSOR_TRY(place_tensors());
        return std::move(found_);
    }

    static constexpr uint64_t magic_bytes = 4;

private:
    static constexpr uint64_t least_key_value_bytes = 8 + 4 + 1;
    static constexpr uint64_t least_tensor_bytes = 8 + 4 + 4 + 8;
    static constexpr uint64_t most_name_bytes = 255; ///< ggml itself takes 63; writers of image models have more
    static constexpr uint64_t most_dimensions = 8;   ///< ggml itself takes 4
    static constexpr size_t most_in_index = size_t{1} << 30; ///< bytes of names, or dimensions

    /// A version has 16 bits at most: one whose lower half is 0 is one of the other byte order.
    result<void> read_version() {
        uint64_t version = 0;
        ZTENSOR_TRY(values_.take(4, version));
        if ((version & 0xffff) == 0) {
            found_.is_big_endian = true;
            values_.set_big_endian();
            version = reverse_bytes(version) >> 32;
        }
        if (version != 2 && version != 3) {
            return fail(errc::unsupported_version, "the file is GGUF of version {}; 2 and 3 can be read", {version});
        }
        return {};
    }

    result<void> read_key_value() {
        uint64_t key_bytes = 0;
        bytes_view key_view;
        ZTENSOR_TRY(values_.take(8, key_bytes));
        if (key_bytes == 0 || key_bytes > max_name_bytes) {
            return fail(errc::name_invalid, "a key has {} bytes, expected from 1 to {}", {key_bytes, max_name_bytes})
                .at(header_.position());
        }
        ZTENSOR_TRY(values_.take_bytes(key_bytes, key_view));
        const string key(as_text(key_view)); // the view ends with the next take
        cbor_encoder dropped;
        cbor_encoder& out = index_ != nullptr ? index_->attribute(key) : dropped;
        if (key == "general.alignment") {
            return values_.read_count(key, gguf_kind::u32, alignment_, out);
        }
        uint64_t* const count = key == "split.no"              ? &found_.part.number
                                : key == "split.count"         ? &found_.part.count
                                : key == "split.tensors.count" ? &found_.part.tensors.emplace()
                                                               : nullptr;
        return count != nullptr ? values_.read_count(key, gguf_kind::array, *count, out) : values_.read(out);
    }

    result<void> read_tensor() {
        gguf_tensors& tensors = found_.tensors;
        uint64_t name_bytes = 0, rank = 0, type = 0;
        bytes_view name;
        ZTENSOR_TRY(values_.take(8, name_bytes));
        if (name_bytes > most_name_bytes) {
            return fail(errc::name_invalid, "the name of a tensor has {} bytes, more than {}",
                        {name_bytes, most_name_bytes})
                .at(header_.position());
        }
        ZTENSOR_TRY(values_.take_bytes(name_bytes, name));
        if (tensors.names.size() > most_in_index || tensors.dimensions.size() > most_in_index) {
            return fail(errc::manifest_too_large, "the names and shapes of all tensors are more than an index holds");
        }
        gguf_tensors::record read = {};
        read.name = static_cast<uint32_t>(tensors.names.size());
        read.name_bytes = static_cast<uint8_t>(name_bytes);
        tensors.names += as_text(name);
        ZTENSOR_TRY(values_.take(4, rank));
        if (rank > most_dimensions) {
            return fail(errc::header_malformed, "the tensor has {} dimensions, more than {}", {rank, most_dimensions})
                .in_object(tensors.name_of(read))
                .at(header_.position());
        }
        read.rank = static_cast<uint8_t>(rank);
        read.dimension = static_cast<uint32_t>(tensors.dimensions.size());
        tensors.dimensions.resize(read.dimension + read.rank);
        for (size_t i = read.rank; i-- != 0;) { // they are stored fastest first
            ZTENSOR_TRY(values_.take(8, tensors.dimensions[read.dimension + i]));
        }
        ZTENSOR_TRY(values_.take(4, type));
        ZTENSOR_TRY(values_.take(8, read.offset));
        read.type = static_cast<uint32_t>(type);
        tensors.records.push_back(read);
        return {};
    }

    /// The data starts at the first multiple of the alignment behind the header, and offsets count from there.
    result<void> place_tensors() {
        if (!is_power_of_two(alignment_)) {
            return fail(errc::header_malformed, "general.alignment is {}, no power of two", {alignment_});
        }
        const optional<uint64_t> data = checked_align(header_.position() - begin_, alignment_);
        for (gguf_tensors::record& each : found_.tensors.records) {
            if (each.name_bytes == 0) {
                return fail(errc::name_invalid, "the name of a tensor is empty");
            }
            if (each.offset % alignment_ != 0) {
                return fail(errc::misaligned_offset, "the data starts {} bytes into the tensor data, no multiple of {}",
                            {each.offset, alignment_})
                    .in_object(found_.tensors.name_of(each));
            }
            const optional<uint64_t> offset = data ? checked_add(*data, each.offset) : std::nullopt;
            if (!offset || !checked_add(begin_, *offset)) {
                return fail(errc::out_of_bounds, "the data starts {} bytes into the tensor data, but the file has {}",
                            {each.offset, size_})
                    .in_object(found_.tensors.name_of(each));
            }
            each.offset = begin_ + *offset;
        }
        return {};
    }

    header_stream header_;
    gguf_values values_{header_};
    foreign_index* index_;
    uint64_t begin_;
    uint64_t size_;
    uint64_t alignment_ = 32;
    gguf_header found_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
