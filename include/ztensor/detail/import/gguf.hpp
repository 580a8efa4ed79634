// SPDX-License-Identifier: MIT
//
// GGUF: the header with its key-value pairs, and tensors, in one file or in parts.
#ifndef ZTENSOR_DETAIL_IMPORT_GGUF_HPP
#define ZTENSOR_DETAIL_IMPORT_GGUF_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- gguf header
//
// The header of a GGUF file, versions 2 and 3 of either byte order: key-values and the list of tensors.

/// Of a value.
enum class gguf_kind : uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

/// The least that a value of that kind takes.
[[nodiscard]] constexpr size_t width_of(gguf_kind kind) noexcept {
    constexpr uint8_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
    return widths[static_cast<size_t>(kind)];
}
[[nodiscard]] constexpr bool is_signed(gguf_kind kind) noexcept {
    return kind == gguf_kind::i8 || kind == gguf_kind::i16 || kind == gguf_kind::i32 || kind == gguf_kind::i64;
}

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
        ZTENSOR_TRY(take(8, tensors));
        ZTENSOR_TRY(take(8, key_values));
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
    static constexpr size_t most_depth = 16;                 ///< of arrays

    /// A version has 16 bits at most: one whose lower half is 0 is one of the other byte order.
    result<void> read_version() {
        uint64_t version = 0;
        ZTENSOR_TRY(take(4, version));
        if ((version & 0xffff) == 0) {
            found_.is_big_endian = true;
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
        ZTENSOR_TRY(take(8, key_bytes));
        if (key_bytes == 0 || key_bytes > max_name_bytes) {
            return fail(errc::name_invalid, "a key has {} bytes, expected from 1 to {}", {key_bytes, max_name_bytes})
                .at(header_.position());
        }
        ZTENSOR_TRY(take_bytes(key_bytes, key_view));
        const string key(as_text(key_view)); // the view ends with the next take
        cbor_encoder dropped;
        cbor_encoder& out = index_ != nullptr ? index_->attribute(key) : dropped;
        if (key == "general.alignment") {
            return read_count(key, gguf_kind::u32, alignment_, out);
        }
        uint64_t* const count = key == "split.no"              ? &found_.part.number
                                : key == "split.count"         ? &found_.part.count
                                : key == "split.tensors.count" ? &found_.part.tensors.emplace()
                                                               : nullptr;
        return count != nullptr ? read_count(key, gguf_kind::array, *count, out) : read_value(out);
    }

    result<void> read_tensor() {
        gguf_tensors& tensors = found_.tensors;
        uint64_t name_bytes = 0, rank = 0, type = 0;
        bytes_view name;
        ZTENSOR_TRY(take(8, name_bytes));
        if (name_bytes > most_name_bytes) {
            return fail(errc::name_invalid, "the name of a tensor has {} bytes, more than {}",
                        {name_bytes, most_name_bytes})
                .at(header_.position());
        }
        ZTENSOR_TRY(take_bytes(name_bytes, name));
        if (tensors.names.size() > most_in_index || tensors.dimensions.size() > most_in_index) {
            return fail(errc::manifest_too_large, "the names and shapes of all tensors are more than an index holds");
        }
        gguf_tensors::record read = {};
        read.name = static_cast<uint32_t>(tensors.names.size());
        read.name_bytes = static_cast<uint8_t>(name_bytes);
        tensors.names += as_text(name);
        ZTENSOR_TRY(take(4, rank));
        if (rank > most_dimensions) {
            return fail(errc::header_malformed, "the tensor has {} dimensions, more than {}", {rank, most_dimensions})
                .in_object(tensors.name_of(read))
                .at(header_.position());
        }
        read.rank = static_cast<uint8_t>(rank);
        read.dimension = static_cast<uint32_t>(tensors.dimensions.size());
        tensors.dimensions.resize(read.dimension + read.rank);
        for (size_t i = read.rank; i-- != 0;) { // they are stored fastest first
            ZTENSOR_TRY(take(8, tensors.dimensions[read.dimension + i]));
        }
        ZTENSOR_TRY(take(4, type));
        ZTENSOR_TRY(take(8, read.offset));
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

    // -- values, as CBOR

    result<void> take(size_t size, uint64_t& value) {
        return header_.take_unsigned(size, found_.is_big_endian, value) ? result<void>() : header_.failure();
    }
    /// Bytes that stay until the next take.
    result<void> take_bytes(uint64_t size, bytes_view& bytes) {
        return header_.take(size, bytes) ? result<void>() : header_.failure();
    }

    /// An array that has begun, and how many of its items are to come.
    struct open_array {
        gguf_kind kind = gguf_kind::u8;
        uint64_t left = 0;
    };

    /// The kind of a value and the value, which is appended to `out`.
    result<void> read_value(cbor_encoder& out) {
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

    header_stream header_;
    foreign_index* index_;
    uint64_t begin_;
    uint64_t size_;
    uint64_t alignment_ = 32;
    gguf_header found_;
};

// -- gguf parts
//
// Models of GGUF in several files, called NAME-00001-of-00003.gguf and so on: which file is which part.

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
        for_each_in_parallel(files.size(), at_once,
                             [&](size_t i) { headers[i] = read_part(i + 1, first.count, files[i], all); });
        for (size_t i = 0; i < files.size(); ++i) {
            const result<void> added =
                headers[i] ? add_objects(*headers[i], files[i]->begin + files[i]->size) : headers[i].error();
            if (!added) {
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

    result<gguf_header> read_part(uint64_t number, uint64_t count, const result<sibling_files::sibling>& file,
                                  const assembled_source& all) const {
        if (!file) {
            return file.error();
        }
        byte magic[gguf_header_reader::magic_bytes] = {};
        ZTENSOR_TRY(all.read_at(file->begin, span<byte>(magic).first(smaller_size(file->size, sizeof magic))));
        if (as_text(bytes_view(magic)) != "GGUF") {
            return fail(errc::shard_mismatch, "it is no GGUF file");
        }
        gguf_header_reader reading(all, file->begin, file->begin + file->size, file_.options.max_manifest_bytes(),
                                   nullptr);
        ZTENSOR_TRY_ASSIGN(gguf_header header, reading.read());
        if (header.part.number != number || header.part.count != count) {
            return fail(errc::shard_mismatch, "it says that it is part {} of {}",
                        {header.part.number + 1, header.part.count});
        }
        return header;
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
        if (const ggml_plain_type* const plain = find_row(ggml_plain_types, &ggml_plain_type::number, what.type)) {
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
                        {to_string(shape(dimensions)), blocks->elements});
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
                        {to_string(shape(from_->shape_of(what)))});
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
