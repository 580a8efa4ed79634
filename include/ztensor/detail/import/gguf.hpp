// SPDX-License-Identifier: MIT
//
// GGUF: tensors, in one file or in parts.
#ifndef ZTENSOR_DETAIL_IMPORT_GGUF_HPP
#define ZTENSOR_DETAIL_IMPORT_GGUF_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/import/gguf_header.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/sibling_files.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- gguf parts
//
// Models of GGUF in several files, called NAME-00001-of-00003.gguf and so on: which file is which part.

/// The name of a part, taken apart.
class gguf_part_name {
public:
    /// Nothing for a name of another form.
    [[nodiscard]] static std::optional<gguf_part_name> parse(std::string_view file_name) {
        constexpr std::size_t end_bytes = 20; // -00001-of-00003.gguf
        if (file_name.size() < end_bytes) {
            return std::nullopt;
        }
        gguf_part_name made;
        made.before_ = file_name.substr(0, file_name.size() - end_bytes + 1);
        const std::string_view end = file_name.substr(made.before_.size() - 1);
        made.behind_ = end.substr(6);
        const bool is_of_form = end[0] == '-' && end.substr(6, 4) == "-of-" && end[15] == '.';
        const std::optional<std::uint64_t> number = number_of(end.substr(1, digits));
        const std::optional<std::uint64_t> count = number_of(end.substr(10, digits));
        if (!is_of_form || !number || !count) {
            return std::nullopt;
        }
        made.number_ = *number;
        made.count_ = *count;
        return made;
    }

    [[nodiscard]] std::uint64_t number() const noexcept { return number_; } ///< from 1 on
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// What the part of that number, from 1 to count(), is called.
    [[nodiscard]] std::string name_of(std::uint64_t number) const { return before_ + five_digits(number) + behind_; }
    [[nodiscard]] static std::string five_digits(std::uint64_t number) {
        const std::string text = std::to_string(number);
        return std::string(digits - (std::min)(digits, text.size()), '0') + text;
    }

private:
    static constexpr std::size_t digits = 5;

    [[nodiscard]] static std::optional<std::uint64_t> number_of(std::string_view text) noexcept {
        std::uint64_t number = 0;
        for (const char digit : text) {
            if (digit < '0' || digit > '9') {
                return std::nullopt;
            }
            number = number * 10 + static_cast<std::uint64_t>(digit - '0');
        }
        return number;
    }

    std::string before_; ///< up to the number
    std::string behind_;
    std::uint64_t number_ = 0;
    std::uint64_t count_ = 0;
};

/// The names of the parts of a model whose first part says `first` and was opened by the name `file_name`. Errors:
/// shard_mismatch for a part that is not the first, which names the one to open; shard_missing, if the name does not
/// tell those of the others.
[[nodiscard]] ZTENSOR_COLD inline result<gguf_part_name> name_gguf_parts(const gguf_part& first,
                                                                         std::string_view file_name) {
    const std::optional<gguf_part_name> name = gguf_part_name::parse(file_name);
    const bool is_named_so = name && name->number() == first.number + 1 && name->count() == first.count;
    if (first.number >= first.count) {
        return fail(errc::header_malformed, "split.no is {}, but split.count is {}", {first.number, first.count});
    }
    if (first.number != 0) {
        const std::string to_open = is_named_so ? sentence(", {}", {in_quotes(name->name_of(1))}) : std::string();
        return fail(errc::shard_mismatch, "the file is part {} of {} of a model: open part 1{}, which opens all",
                    {first.number + 1, first.count, to_open});
    }
    if (!is_named_so) {
        return fail(errc::shard_missing,
                    "part 2 of {} can't be found: the file is part 1, but is not called NAME-00001-of-{}.gguf",
                    {first.count, gguf_part_name::five_digits(first.count)});
    }
    return *name;
}

// -- gguf
//
// GGUF: key-values become attributes, tensors objects. Of a quantized tensor the blocks stay as they are, in an object
// of format gguf.<type>/1. The first of several files of a model opens all.

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
    explicit gguf_importer(const foreign_file& file) : file_(file) {}

    [[nodiscard]] result<imported> import() {
        index_.has_attributes();
        imported made;
        made.kind = container_kind::gguf;
        made.source = file_.source;
        const std::uint64_t size = file_.source->size();
        ZTENSOR_TRY_ASSIGN(
            const gguf_header first,
            gguf_header_reader(*file_.source, 0, size, file_.options.max_manifest_bytes_, &index_).read());
        ZTENSOR_TRY(add_objects(first, size));
        if (first.part.count > 1 || first.part.number != 0) {
            auto all = std::make_shared<assembled_source>(file_.source, file_.options.max_decoded_bytes_);
            ZTENSOR_TRY(add_other_parts(first.part, *all));
            made.source = std::move(all);
        }
        ZTENSOR_TRY_ASSIGN(byte_buffer index, index_.finish(file_.options.max_manifest_bytes_));
        made.index = std::move(index);
        return made;
    }

private:
    using tensor = gguf_tensors::record;

    /// The file is the first part. Key-values are those of the first, as in ggml's own loader.
    [[nodiscard]] result<void> add_other_parts(const gguf_part& first, assembled_source& all) {
        ZTENSOR_TRY_ASSIGN(const gguf_part_name names,
                           name_gguf_parts(first, path_text(native_path(file_name_of(file_.path)))));
        sibling_files siblings(file_, all);
        for (std::uint64_t number = 2; number <= first.count; ++number) {
            const std::string name = names.name_of(number);
            if (result<void> added = add_part(number, first.count, siblings.find(name), all); !added) {
                const error why = std::move(added).error();
                const bool is_missing = why.code() == errc::file_not_found;
                return fail(is_missing ? errc::shard_missing : why.code(), "part {} of {}, {}: {}",
                            {number, first.count, in_quotes(name), is_missing ? "it is missing" : why.sentence()})
                    .because(why.os_error())
                    .in_object(why.object());
            }
        }
        if (first.tensors && *first.tensors != tensor_count_) {
            return fail(errc::shard_mismatch, "split.tensors.count is {}, but the {} parts hold {} tensors",
                        {*first.tensors, first.count, tensor_count_});
        }
        return {};
    }

    [[nodiscard]] result<void> add_part(std::uint64_t number, std::uint64_t count,
                                        const result<sibling_files::sibling>& file, const assembled_source& all) {
        if (!file) {
            return file.error();
        }
        const std::uint64_t end = file->begin + file->size;
        std::byte magic[gguf_header_reader::magic_bytes] = {};
        const auto size = static_cast<std::size_t>((std::min<std::uint64_t>)(sizeof magic, file->size));
        ZTENSOR_TRY(all.read_at(file->begin, span<std::byte>(magic).first(size)));
        if (as_text(bytes_view(magic)) != "GGUF") {
            return fail(errc::shard_mismatch, "it is no GGUF file");
        }
        ZTENSOR_TRY_ASSIGN(
            const gguf_header header,
            gguf_header_reader(all, file->begin, end, file_.options.max_manifest_bytes_, nullptr).read());
        if (header.part.number + 1 != number || header.part.count != count) {
            return fail(errc::shard_mismatch, "it says that it is part {} of {}",
                        {header.part.number + 1, header.part.count});
        }
        return add_objects(header, end);
    }

    /// `end` is that of the file in the source.
    [[nodiscard]] result<void> add_objects(const gguf_header& from, std::uint64_t end) {
        offsets_.clear();
        knows_q2_0_ = !has_other_q2_0(from, end);
        tensor_count_ += from.tensors.records.size();
        for (const tensor& each : from.tensors.records) {
            if (result<void> added = add_object(from, each, end); !added) {
                return std::move(added).error().in_object(from.tensors.name_of(each));
            }
        }
        return {};
    }

    [[nodiscard]] result<void> add_object(const gguf_header& from, const tensor& what, std::uint64_t end) {
        if (const ggml_plain_type* const plain = find_plain_ggml_type(what.type)) {
            return add_dense(from, what, *plain, end);
        }
        const ggml_block_type* const blocks = find_ggml_type(what.type);
        if (blocks != nullptr && (blocks->id != ggml_type::q2_0 || knows_q2_0_)) {
            return add_blocks(from, what, *blocks, end);
        }
        add_unknown(from, what, end);
        return {};
    }

    [[nodiscard]] result<void> add_dense(const gguf_header& from, const tensor& what, const ggml_plain_type& type,
                                         std::uint64_t end) {
        const span<const std::uint64_t> dimensions = from.tensors.shape_of(what);
        ZTENSOR_TRY_ASSIGN(const std::uint64_t length, count_bytes(what, dimensions, 1, type.bytes, end));
        foreign_component data;
        data.dtype = type.dtype;
        data.offset = what.offset;
        data.length = length;
        data.is_big_endian = from.is_big_endian && type.bytes > 1;
        index_.add(from.tensors.name_of(what), dimensions, data);
        return {};
    }

    /// Rows are whole blocks.
    [[nodiscard]] result<void> add_blocks(const gguf_header& from, const tensor& what, const ggml_block_type& type,
                                          std::uint64_t end) {
        const span<const std::uint64_t> dimensions = from.tensors.shape_of(what);
        if (dimensions.empty() || dimensions[dimensions.size() - 1] % type.elements != 0) {
            return fail(errc::size_mismatch, "rows of shape {} are no whole number of blocks of {} weights",
                        {shape_text(dimensions), type.elements});
        }
        ZTENSOR_TRY_ASSIGN(const std::uint64_t length, count_bytes(what, dimensions, type.elements, type.bytes, end));
        attributes of_object;
        of_object.set("block_bytes", type.bytes);
        of_object.set("elems_per_block", type.elements);
        add_bytes(from, what, type.name, length, &of_object);
        return {};
    }

    /// Up to where the next tensor starts, or the file ends.
    [[nodiscard]] std::uint64_t most_bytes_of(const gguf_header& from, const tensor& what, std::uint64_t end) {
        if (offsets_.empty()) {
            for (const tensor& each : from.tensors.records) {
                offsets_.push_back(each.offset);
            }
            std::sort(offsets_.begin(), offsets_.end());
        }
        const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), what.offset);
        const std::uint64_t until = (std::min)(next != offsets_.end() ? *next : ~std::uint64_t{0}, end);
        return until - (std::min)(until, what.offset);
    }

    void add_unknown(const gguf_header& from, const tensor& what, std::uint64_t end) {
        add_bytes(from, what, "type_" + std::to_string(what.type), most_bytes_of(from, what, end), nullptr);
    }

    /// Before ggml gave out the number of q2_0, a fork had it for blocks of 128 weights in 34 bytes. In such a file
    /// some tensor has less room than ggml's blocks take.
    [[nodiscard]] bool has_other_q2_0(const gguf_header& from, std::uint64_t end) {
        for (const tensor& each : from.tensors.records) {
            const ggml_block_type* const type = find_ggml_type(each.type);
            if (type == nullptr || type->id != ggml_type::q2_0) {
                continue;
            }
            const auto bytes = bytes_of(from.tensors.shape_of(each), type->elements, type->bytes);
            if (bytes && *bytes > most_bytes_of(from, each, end)) {
                return true;
            }
        }
        return false;
    }

    /// Writers of big-endian files do not agree on the order of numbers in blocks: the gguf package's own leaves scales
    /// as they are, its script that turns a file around swaps those of some types, and nothing in the file tells which
    /// was at work. So these blocks get a name of their own, and are kept, not computed with.
    void add_bytes(const gguf_header& from, const tensor& what, std::string_view type, std::uint64_t length,
                   const attributes* of_object) {
        foreign_component data;
        data.dtype = "u8";
        data.offset = what.offset;
        data.length = length;
        std::string format(ggml_format_prefix);
        format += type;
        format += from.is_big_endian ? ggml_big_endian_mark : std::string_view();
        format += ggml_format_suffix;
        index_.add(from.tensors.name_of(what), from.tensors.shape_of(what), format, {&data, 1}, of_object);
    }

    [[nodiscard]] static std::string shape_text(span<const std::uint64_t> dimensions) {
        shape made;
        for (const std::uint64_t dimension : dimensions) {
            made.push_back(dimension);
        }
        return to_string(made);
    }

    /// Nothing, if 64 bits can't count the elements or the bytes.
    [[nodiscard]] static std::optional<std::uint64_t>
    bytes_of(span<const std::uint64_t> dimensions, std::uint64_t block_elements, std::uint64_t block_bytes) noexcept {
        element_counter counter;
        for (const std::uint64_t dimension : dimensions) {
            if (!counter.multiply(dimension)) {
                return std::nullopt;
            }
        }
        return checked_multiply(counter.count() / block_elements, block_bytes);
    }

    /// The bytes of a tensor, which end with its file at the latest. Errors: shape_overflow, out_of_bounds.
    [[nodiscard]] static result<std::uint64_t> count_bytes(const tensor& what, span<const std::uint64_t> dimensions,
                                                           std::uint64_t block_elements, std::uint64_t block_bytes,
                                                           std::uint64_t end) {
        const std::optional<std::uint64_t> bytes = bytes_of(dimensions, block_elements, block_bytes);
        if (!bytes) {
            return fail(errc::shape_overflow, "shape {} has more elements or bytes than 64 bits can count",
                        {shape_text(dimensions)});
        }
        if (*bytes != 0 && !fits(what.offset, *bytes, end)) {
            return fail(errc::out_of_bounds, "the data takes {} bytes, but the file ends before", {*bytes});
        }
        return *bytes;
    }

    const foreign_file& file_;
    foreign_index index_;
    std::vector<std::uint64_t> offsets_; ///< of all tensors of a file, sorted, once they were asked for
    bool knows_q2_0_ = true;             ///< that of the file is ggml's
    std::uint64_t tensor_count_ = 0;     ///< of all parts so far
};

[[nodiscard]] ZTENSOR_COLD inline result<imported> import_gguf(const foreign_file& file) {
    return gguf_importer(file).import();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
