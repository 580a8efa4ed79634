// SPDX-License-Identifier: MIT
//
// GGUF, versions 2 and 3 of either byte order: key-values become attributes, tensors objects. Of a quantized tensor the
// blocks stay as they are, in an object of format gguf.<type>/1.
#ifndef ZTENSOR_DETAIL_FOREIGN_GGUF_HPP
#define ZTENSOR_DETAIL_FOREIGN_GGUF_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/gguf_values.hpp>
#include <ztensor/detail/foreign/header_stream.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The numbers of `enum ggml_type` that are no blocks.
struct ggml_plain_type {
    std::uint32_t number;
    std::string_view dtype;
    std::uint32_t bytes;
};

inline constexpr ggml_plain_type ggml_plain_types[] = {{0, "f32", 4},  {1, "f16", 2},  {24, "i8", 1},  {25, "i16", 2},
                                                       {26, "i32", 4}, {27, "i64", 8}, {28, "f64", 8}, {30, "bf16", 2}};

[[nodiscard]] constexpr const ggml_plain_type* find_plain_ggml_type(std::uint64_t number) noexcept {
    for (const ggml_plain_type& each : ggml_plain_types) {
        if (each.number == number) {
            return &each;
        }
    }
    return nullptr;
}

class gguf_importer {
public:
    explicit gguf_importer(const foreign_file& file)
        : file_(file), header_(*file.source, magic_bytes, file.source->size(), file.options.max_manifest_bytes_) {}

    [[nodiscard]] result<imported> import() {
        if (result<void> read = read_header(); !read) {
            return std::move(read).error();
        }
        if (result<void> added = add_objects(); !added) {
            return std::move(added).error();
        }
        result<byte_buffer> index = index_.finish(file_.options.max_manifest_bytes_);
        if (!index) {
            return std::move(index).error();
        }
        imported made;
        made.kind = container_kind::gguf;
        made.source = file_.source;
        made.index = *std::move(index);
        return made;
    }

private:
    static constexpr std::uint64_t magic_bytes = 4;
    static constexpr std::uint64_t least_key_value_bytes = 8 + 4 + 1;
    static constexpr std::uint64_t least_tensor_bytes = 8 + 4 + 4 + 8;
    static constexpr std::uint64_t most_name_bytes = 64;
    static constexpr std::size_t most_dimensions = 4;

    struct tensor {
        std::string name;
        std::uint64_t dimensions[most_dimensions]; ///< outermost first, as ours
        std::size_t rank;
        std::uint64_t type;
        std::uint64_t offset; ///< in the file
    };

    [[nodiscard]] result<void> read_header() {
        std::uint64_t tensors = 0;
        std::uint64_t key_values = 0;
        if (result<void> read = read_version(); !read) {
            return read;
        }
        if (!take(8, tensors) || !take(8, key_values)) {
            return header_.failure();
        }
        if (key_values > header_.left() / least_key_value_bytes || tensors > header_.left() / least_tensor_bytes) {
            return fail(errc::truncated,
                        "the header states {} tensors and {} key-values, more than the file has room for",
                        {tensors, key_values});
        }
        index_.has_attributes();
        for (std::uint64_t i = 0; i < key_values; ++i) {
            if (result<void> read = read_key_value(); !read) {
                return read;
            }
        }
        tensors_begin_ = header_.position();
        tensors_ = tensors;
        return {};
    }

    /// Goes through the descriptions of all tensors once more, from the first on, so that nothing is kept of them.
    template <class Take>
    [[nodiscard]] result<void> for_each_tensor(Take&& take) {
        const std::uint64_t most_bytes = file_.options.max_manifest_bytes_ - (tensors_begin_ - magic_bytes);
        header_stream header(*file_.source, tensors_begin_, file_.source->size(), most_bytes);
        for (std::uint64_t i = 0; i < tensors_; ++i) {
            tensor read;
            if (result<void> done = read_tensor(header, read); !done) {
                return done;
            }
            if (result<void> taken = take(read); !taken) {
                return std::move(taken).error().in_object(read.name);
            }
        }
        tensors_end_ = header.position();
        return {};
    }

    /// A version has 16 bits at most: one whose lower half is 0 is one of the other byte order.
    [[nodiscard]] result<void> read_version() {
        std::uint64_t version = 0;
        if (!take(4, version)) {
            return header_.failure();
        }
        if ((version & 0xffff) == 0) {
            is_big_endian_ = true;
            version = reverse_bytes(version) >> 32;
        }
        if (version != 2 && version != 3) {
            return fail(errc::unsupported_version, "the file is GGUF of version {}; 2 and 3 can be read", {version});
        }
        return {};
    }

    [[nodiscard]] result<void> read_key_value() {
        std::uint64_t key_bytes = 0;
        bytes_view key;
        if (!take(8, key_bytes)) {
            return header_.failure();
        }
        if (key_bytes > max_name_bytes) {
            return fail(errc::name_invalid, "a key has {} bytes, more than {}", {key_bytes, max_name_bytes})
                .at(header_.position());
        }
        if (!header_.take(key_bytes, key)) {
            return header_.failure();
        }
        const bool is_alignment = as_text(key) == "general.alignment";
        gguf_values values(header_, is_big_endian_, index_.attribute(as_text(key)));
        return is_alignment ? values.read_u32(alignment_) : values.read();
    }

    [[nodiscard]] result<void> read_tensor(header_stream& header, tensor& read) const {
        std::uint64_t name_bytes = 0;
        bytes_view name;
        if (!take(header, 8, name_bytes)) {
            return header.failure();
        }
        if (name_bytes > most_name_bytes) {
            return fail(errc::name_invalid, "the name of a tensor has {} bytes, more than {}",
                        {name_bytes, most_name_bytes})
                .at(header.position());
        }
        if (!header.take(name_bytes, name)) {
            return header.failure();
        }
        read.name = as_text(name);
        std::uint64_t rank = 0;
        if (!take(header, 4, rank)) {
            return header.failure();
        }
        if (rank > most_dimensions) {
            return fail(errc::header_malformed, "the tensor has {} dimensions, more than {}", {rank, most_dimensions})
                .in_object(read.name)
                .at(header.position());
        }
        read.rank = static_cast<std::size_t>(rank);
        for (std::size_t i = read.rank; i-- != 0;) { // they are stored fastest first
            if (!take(header, 8, read.dimensions[i])) {
                return header.failure();
            }
        }
        if (!take(header, 4, read.type) || !take(header, 8, read.offset)) {
            return header.failure();
        }
        return {};
    }

    /// In three rounds, as the format has it: they can all be read, they all begin where they may, and they can be
    /// entered.
    [[nodiscard]] result<void> add_objects() {
        bool has_unknown = false;
        result<void> done = for_each_tensor([&](const tensor& each) -> result<void> {
            has_unknown =
                has_unknown || (find_plain_ggml_type(each.type) == nullptr && find_ggml_type(each.type) == nullptr);
            return {};
        });
        if (!done) {
            return done;
        }
        if (!is_power_of_two(alignment_)) {
            return fail(errc::header_malformed, "general.alignment is {}, no power of two", {alignment_});
        }
        const std::optional<std::uint64_t> begin = checked_align(tensors_end_, alignment_);
        done = for_each_tensor([&](const tensor& each) -> result<void> {
            const std::optional<std::uint64_t> offset = begin ? checked_add(*begin, each.offset) : std::nullopt;
            if (each.offset % alignment_ != 0) {
                return fail(errc::misaligned_offset, "the data starts {} bytes into the tensor data, no multiple of {}",
                            {each.offset, alignment_});
            }
            if (!offset) {
                return fail(errc::out_of_bounds, "the data starts {} bytes into the tensor data, but the file has {}",
                            {each.offset, file_.source->size()});
            }
            if (has_unknown) {
                offsets_.push_back(*offset);
            }
            return {};
        });
        if (!done) {
            return done;
        }
        std::sort(offsets_.begin(), offsets_.end());
        return for_each_tensor([&](tensor& each) {
            each.offset += *begin; // which was found to fit
            return add_object(each);
        });
    }

    [[nodiscard]] result<void> add_object(const tensor& from) {
        if (const ggml_plain_type* const plain = find_plain_ggml_type(from.type)) {
            const std::optional<std::uint64_t> length = bytes_of(from, 1, plain->bytes);
            if (!length) {
                return too_large(from);
            }
            foreign_component data;
            data.dtype = plain->dtype;
            data.offset = from.offset;
            data.length = *length;
            data.is_big_endian = is_big_endian_ && plain->bytes > 1;
            index_.add(from.name, shape_of(from), data);
            return {};
        }
        const ggml_block_type* const blocks = find_ggml_type(from.type);
        return blocks != nullptr ? add_blocks(from, *blocks) : add_unknown(from);
    }

    [[nodiscard]] result<void> add_blocks(const tensor& from, const ggml_block_type& type) {
        if (from.rank == 0 || from.dimensions[from.rank - 1] % type.elements != 0) {
            return fail(errc::size_mismatch, "rows of shape {} are no whole number of blocks of {} weights",
                        {to_string(shape_of_tensor(from)), type.elements});
        }
        const std::optional<std::uint64_t> length = bytes_of(from, type.elements, type.bytes);
        if (!length) {
            return too_large(from);
        }
        attributes of_object;
        of_object.set("block_bytes", type.bytes);
        of_object.set("elems_per_block", type.elements);
        add_bytes(from, type.name, *length, &of_object);
        return {};
    }

    /// Its bytes reach at most to where the next tensor starts.
    [[nodiscard]] result<void> add_unknown(const tensor& from) {
        const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), from.offset);
        const std::uint64_t end = (std::min)(next != offsets_.end() ? *next : ~std::uint64_t{0}, file_.source->size());
        add_bytes(from, "type_" + std::to_string(from.type), end - (std::min)(end, from.offset), nullptr);
        return {};
    }

    /// Writers of big-endian files do not agree on the order of numbers in blocks: the gguf package's own leaves scales
    /// as they are, its script that turns a file around swaps those of some types, and nothing in the file tells which
    /// was at work. So these blocks get a name of their own, and are kept, not computed with.
    void add_bytes(const tensor& from, std::string_view type, std::uint64_t length, const attributes* of_object) {
        foreign_component data;
        data.dtype = "u8";
        data.offset = from.offset;
        data.length = length;
        std::string format(ggml_format_prefix);
        format += type;
        format += is_big_endian_ ? ggml_big_endian_mark : std::string_view();
        format += ggml_format_suffix;
        index_.add(from.name, shape_of(from), format, {&data, 1}, of_object);
    }

    [[nodiscard]] static span<const std::uint64_t> shape_of(const tensor& from) noexcept {
        return {from.dimensions, from.rank};
    }
    [[nodiscard]] static shape shape_of_tensor(const tensor& from) {
        shape dimensions;
        for (const std::uint64_t dimension : shape_of(from)) {
            dimensions.push_back(dimension);
        }
        return dimensions;
    }
    [[nodiscard]] static error too_large(const tensor& from) {
        return fail(errc::shape_overflow, "shape {} has more elements or bytes than 64 bits can count",
                    {to_string(shape_of_tensor(from))});
    }

    /// Rows are whole blocks. Nothing, if 64 bits can't count the elements or the bytes.
    [[nodiscard]] static std::optional<std::uint64_t> bytes_of(const tensor& from, std::uint64_t block_elements,
                                                               std::uint64_t block_bytes) noexcept {
        element_counter counter;
        for (const std::uint64_t dimension : shape_of(from)) {
            if (!counter.multiply(dimension)) {
                return std::nullopt;
            }
        }
        return checked_multiply(counter.count() / block_elements, block_bytes);
    }

    [[nodiscard]] bool take(std::size_t size, std::uint64_t& value) { return take(header_, size, value); }
    [[nodiscard]] bool take(header_stream& header, std::size_t size, std::uint64_t& value) const {
        return header.take_unsigned(size, is_big_endian_, value);
    }

    const foreign_file& file_;
    header_stream header_;
    foreign_index index_;
    std::uint64_t tensors_ = 0;
    std::uint64_t tensors_begin_ = 0; ///< of their descriptions
    std::uint64_t tensors_end_ = 0;
    std::vector<std::uint64_t> offsets_; ///< of all tensors, sorted, if one is of an unknown type
    std::uint64_t alignment_ = 32;
    bool is_big_endian_ = false;
};

[[nodiscard]] ZTENSOR_COLD inline result<imported> import_gguf(const foreign_file& file) {
    return gguf_importer(file).import();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
