// SPDX-License-Identifier: MIT
//
// GGUF: tensors, in one file or in parts.
#ifndef ZTENSOR_DETAIL_IMPORT_GGUF_HPP
#define ZTENSOR_DETAIL_IMPORT_GGUF_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/import/gguf_header.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- gguf parts
//
// Models of GGUF in several files, called NAME-00001-of-00003.gguf and so on: which file is which part.

inline constexpr size_t gguf_part_digits = 5;

/// Nothing for a name of another form.
[[nodiscard]] inline optional<numbered_name> parse_gguf_part(string_view file_name) noexcept {
    const optional<numbered_name> name = numbered_name::parse(file_name);
    const bool is_of_form = name && !name->before.empty() && name->before.back() == '-' && name->of == "-of-" &&
                            name->number.size() == gguf_part_digits && name->count.size() == gguf_part_digits &&
                            name->after.size() == 5 && name->after[0] == '.';
    return is_of_form ? name : std::nullopt;
}

/// The names of the parts of a model whose first part says `first` and was opened by the name `file_name`. Errors:
/// shard_mismatch for a part that is not the first, which names the one to open; shard_missing, if the name does not
/// tell those of the others.
ZTENSOR_COLD inline result<numbered_name> name_gguf_parts(const gguf_part& first, string_view file_name) {
    const optional<numbered_name> name = parse_gguf_part(file_name);
    const bool is_named_so =
        name && parse_decimal(name->number) == first.number + 1 && parse_decimal(name->count) == first.count;
    if (first.number >= first.count) {
        return fail(errc::header_malformed, "split.no is {}, but split.count is {}", {first.number, first.count});
    }
    if (first.number != 0) {
        const string to_open =
            is_named_so ? sentence(", {}", {in_quotes(name->name_of(padded(1, gguf_part_digits)))}) : string();
        return fail(errc::shard_mismatch, "the file is part {} of {} of a model: open part 1{}, which opens all",
                    {first.number + 1, first.count, to_open});
    }
    if (!is_named_so) {
        return fail(errc::shard_missing,
                    "part 2 of {} can't be found: the file is part 1, but is not called NAME-00001-of-{}.gguf",
                    {first.count, padded(first.count, gguf_part_digits)});
    }
    return *name;
}

// -- gguf
//
// GGUF: key-values become attributes, tensors objects. Of a quantized tensor the blocks stay as they are, in an object
// of format gguf.<type>/1. The first of several files of a model opens all.

/// The numbers of `enum ggml_type` that are no blocks.
struct ggml_plain_type {
    uint32_t number;
    string_view dtype;
    uint32_t bytes;
};

inline constexpr ggml_plain_type ggml_plain_types[] = {{0, "f32", 4},  {1, "f16", 2},  {24, "i8", 1},  {25, "i16", 2},
                                                       {26, "i32", 4}, {27, "i64", 8}, {28, "f64", 8}, {30, "bf16", 2}};

[[nodiscard]] inline const ggml_plain_type* find_plain_ggml_type(uint64_t number) noexcept {
    return find_row(ggml_plain_types, &ggml_plain_type::number, number);
}

class gguf_importer {
public:
    explicit gguf_importer(const foreign_file& file) : file_(file) {}

    result<imported> import() {
        index_.has_attributes();
        std::shared_ptr<const byte_source> source = file_.source;
        const uint64_t size = file_.source->size();
        ZTENSOR_TRY_ASSIGN(
            const gguf_header first,
            gguf_header_reader(*file_.source, 0, size, file_.options.max_manifest_bytes(), &index_).read());
        ZTENSOR_TRY(add_objects(first, size));
        if (first.part.count > 1 || first.part.number != 0) {
            auto all = std::make_shared<assembled_source>(file_.source, file_.options.max_decoded_bytes());
            ZTENSOR_TRY(add_other_parts(first.part, *all));
            source = std::move(all);
        }
        return finish_import(container_kind::gguf, index_, std::move(source), file_.options);
    }

private:
    using tensor = gguf_tensors::record;

    /// The file is the first part. Key-values are those of the first, as in ggml's own loader.
    result<void> add_other_parts(const gguf_part& first, assembled_source& all) {
        const string own = path_text(native_path(file_name_of(file_.path)));
        ZTENSOR_TRY_ASSIGN(const numbered_name names, name_gguf_parts(first, own));
        vector<string> paths;
        for (uint64_t number = 2; number <= first.count; ++number) {
            paths.push_back(names.name_of(padded(number, gguf_part_digits)));
        }
        sibling_files siblings(file_, all);
        const unsigned at_once = siblings.open_ahead(paths);
        vector<result<sibling_files::sibling>> files;
        while (files.size() != paths.size() && (files.empty() || files.back())) {
            files.push_back(siblings.find(paths[files.size()]));
        }
        vector<result<gguf_header>> headers(files.size(), gguf_header());
        for_each_in_parallel(files.size(), at_once, [&](size_t i) { headers[i] = read_part(files[i], all); });
        for (size_t i = 0; i < files.size(); ++i) {
            if (const result<void> added = add_part(i + 1, first.count, files[i], headers[i]); !added) {
                const error& why = added.error();
                const bool is_missing = why.code() == errc::file_not_found;
                return fail(is_missing ? errc::shard_missing : why.code(), "part {} of {}, {}: {}",
                            {i + 2, first.count, in_quotes(paths[i]), is_missing ? "it is missing" : why.sentence()})
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

    result<gguf_header> read_part(const result<sibling_files::sibling>& file, const assembled_source& all) const {
        if (!file) {
            return file.error();
        }
        const uint64_t end = file->begin + file->size;
        byte magic[gguf_header_reader::magic_bytes] = {};
        const auto size = static_cast<size_t>((std::min<uint64_t>)(sizeof magic, file->size));
        ZTENSOR_TRY(all.read_at(file->begin, span<byte>(magic).first(size)));
        if (as_text(bytes_view(magic)) != "GGUF") {
            return fail(errc::shard_mismatch, "it is no GGUF file");
        }
        return gguf_header_reader(all, file->begin, end, file_.options.max_manifest_bytes(), nullptr).read();
    }

    result<void> add_part(uint64_t number, uint64_t count, const result<sibling_files::sibling>& file,
                          const result<gguf_header>& header) {
        if (!header) {
            return header.error();
        }
        if (header->part.number != number || header->part.count != count) {
            return fail(errc::shard_mismatch, "it says that it is part {} of {}",
                        {header->part.number + 1, header->part.count});
        }
        return add_objects(*header, file->begin + file->size);
    }

    /// Of one file, which ends at `end` of the source.
    result<void> add_objects(const gguf_header& header, uint64_t end) {
        from_ = &header.tensors;
        is_big_endian_ = header.is_big_endian;
        end_ = end;
        offsets_.clear();
        const bool knows_q2_0 = !has_other_q2_0();
        tensor_count_ += from_->records.size();
        for (const tensor& each : from_->records) {
            if (result<void> added = add_object(each, knows_q2_0); !added) {
                return std::move(added).error().in_object(from_->name_of(each));
            }
        }
        return {};
    }

    result<void> add_object(const tensor& what, bool knows_q2_0) {
        const span<const uint64_t> dimensions = from_->shape_of(what);
        if (const ggml_plain_type* const plain = find_plain_ggml_type(what.type)) {
            foreign_component data;
            data.dtype = plain->dtype;
            data.offset = what.offset;
            ZTENSOR_TRY_ASSIGN(data.length, count_bytes(what, 1, plain->bytes));
            data.is_big_endian = is_big_endian_ && plain->bytes > 1;
            index_.add(from_->name_of(what), dimensions, data);
            return {};
        }
        const ggml_block_type* const blocks = find_ggml_type(what.type);
        if (blocks == nullptr || (blocks->id == ggml_type::q2_0 && !knows_q2_0)) {
            add_bytes(what, "type_" + std::to_string(what.type), most_bytes_of(what), nullptr);
            return {};
        }
        if (dimensions.empty() || dimensions[dimensions.size() - 1] % blocks->elements != 0) {
            return fail(errc::size_mismatch, "rows of shape {} are no whole number of blocks of {} weights",
                        {shape_text(dimensions), blocks->elements});
        }
        ZTENSOR_TRY_ASSIGN(const uint64_t length, count_bytes(what, blocks->elements, blocks->bytes));
        attributes of_object;
        of_object.set("block_bytes", blocks->bytes);
        of_object.set("elems_per_block", blocks->elements);
        add_bytes(what, blocks->name, length, &of_object);
        return {};
    }

    /// Up to where the next tensor starts, or the file ends.
    [[nodiscard]] uint64_t most_bytes_of(const tensor& what) {
        if (offsets_.empty()) {
            for (const tensor& each : from_->records) {
                offsets_.push_back(each.offset);
            }
            std::sort(offsets_.begin(), offsets_.end());
        }
        const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), what.offset);
        const uint64_t until = next != offsets_.end() ? (std::min)(*next, end_) : end_;
        return until - (std::min)(until, what.offset);
    }

    /// Before ggml gave out the number of q2_0, a fork had it for blocks of 128 weights in 34 bytes. In such a file
    /// some tensor has less room than ggml's blocks take.
    [[nodiscard]] bool has_other_q2_0() {
        for (const tensor& each : from_->records) {
            const ggml_block_type* const type = find_ggml_type(each.type);
            if (type != nullptr && type->id == ggml_type::q2_0 &&
                bytes_of(each, type->elements, type->bytes).value_or(0) > most_bytes_of(each)) {
                return true;
            }
        }
        return false;
    }

    /// Writers of big-endian files do not agree on the order of numbers in blocks: the gguf package's own leaves scales
    /// as they are, its script that turns a file around swaps those of some types, and nothing in the file tells which
    /// was at work. So these blocks get a name of their own, and are kept, not computed with.
    void add_bytes(const tensor& what, string_view type, uint64_t length, const attributes* of_object) {
        foreign_component data;
        data.dtype = "u8";
        data.offset = what.offset;
        data.length = length;
        string format(ggml_format_prefix);
        format += type;
        format += is_big_endian_ ? ggml_big_endian_mark : string_view();
        format += ggml_format_suffix;
        index_.add(from_->name_of(what), from_->shape_of(what), format, {&data, 1}, of_object);
    }

    [[nodiscard]] static string shape_text(span<const uint64_t> dimensions) {
        return to_string(shape(dimensions.begin(), dimensions.end()));
    }

    /// Nothing, if 64 bits can't count the elements or the bytes.
    [[nodiscard]] optional<uint64_t> bytes_of(const tensor& what, uint64_t block_elements,
                                              uint64_t block_bytes) const noexcept {
        const optional<uint64_t> elements = count_elements(from_->shape_of(what));
        return elements ? checked_multiply(*elements / block_elements, block_bytes) : std::nullopt;
    }

    /// The bytes of a tensor, which end with its file at the latest. Errors: shape_overflow, out_of_bounds.
    result<uint64_t> count_bytes(const tensor& what, uint64_t block_elements, uint64_t block_bytes) const {
        const optional<uint64_t> bytes = bytes_of(what, block_elements, block_bytes);
        if (!bytes) {
            return fail(errc::shape_overflow, "shape {} has more elements or bytes than 64 bits can count",
                        {shape_text(from_->shape_of(what))});
        }
        if (*bytes != 0 && !fits(what.offset, *bytes, end_)) {
            return fail(errc::out_of_bounds, "the data takes {} bytes, but the file ends before", {*bytes});
        }
        return *bytes;
    }

    const foreign_file& file_;
    foreign_index index_;
    uint64_t tensor_count_ = 0; ///< of all parts so far

    // -- of the file whose tensors are added

    const gguf_tensors* from_ = nullptr;
    bool is_big_endian_ = false;
    uint64_t end_ = 0;
    vector<uint64_t> offsets_; ///< of all tensors, sorted, once they were asked for
};

ZTENSOR_COLD inline result<imported> import_gguf(const foreign_file& file) {
    return gguf_importer(file).import();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
