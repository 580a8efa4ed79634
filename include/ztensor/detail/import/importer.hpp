// SPDX-License-Identifier: MIT
//
// What an importer is given and gives: a draft of a model. And the importers that a program holds.
#ifndef ZTENSOR_DETAIL_IMPORT_IMPORTER_HPP
#define ZTENSOR_DETAIL_IMPORT_IMPORTER_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/read_ahead.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- name hashes
//
// Which names were met before, in 8 bytes each. Two names of one hash are taken for one: of a million names two are
// with a chance of one in forty millions.

class name_hashes {
public:
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    /// False if it was met before.
    [[nodiscard]] bool insert(string_view name) {
        if (4 * (count_ + 1) > 3 * slots_.size()) {
            grow();
        }
        return insert_hash(hash_of(name));
    }

private:
    /// FNV-1a, of 64 bits. Never 0, which is an empty slot.
    [[nodiscard]] static uint64_t hash_of(string_view name) noexcept {
        uint64_t hash = 0xcbf29ce484222325;
        for (const char each : name) {
            hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
        }
        return hash != 0 ? hash : 1;
    }
    [[nodiscard]] bool insert_hash(uint64_t hash) noexcept {
        const size_t mask = slots_.size() - 1;
        size_t at = static_cast<size_t>(hash ^ hash >> 32) & mask;
        for (; slots_[at] != 0; at = (at + 1) & mask) {
            if (slots_[at] == hash) {
                return false;
            }
        }
        slots_[at] = hash;
        ++count_;
        return true;
    }
    void grow() {
        constexpr size_t least_slots = 64;
        const vector<uint64_t> before =
            std::exchange(slots_, vector<uint64_t>(slots_.empty() ? least_slots : 2 * slots_.size()));
        count_ = 0;
        for (const uint64_t each : before) {
            if (each != 0) {
                static_cast<void>(insert_hash(each));
            }
        }
    }

    vector<uint64_t> slots_; ///< a power of two of them
    size_t count_ = 0;
};

// -- foreign index
//
// What an importer makes of a foreign header: a draft of a model. Whatever it says is checked when it becomes one, as
// that of a .zt file is. Knows no foreign format.

/// A range of the source, and what its bytes are. Borrows; only for the length of a call.
struct foreign_component {
    string_view role = "data";
    string_view dtype; ///< in the words of 1.2
    string_view type;  ///< a logical type; "" for none
    uint64_t offset = 0;
    uint64_t length = 0;
    string_view digest; ///< "" for none
    bool is_big_endian = false;
};

/// Takes in objects and attributes in any order; names and keys that stand twice are found when the index is read.
class foreign_index {
public:
    /// A dense object.
    void add(string_view name, span<const uint64_t> dimensions, const foreign_component& data) {
        add(name, dimensions, "dense", {&data, 1}, nullptr);
    }
    /// An object of any format; `of_object` may be null.
    void add(string_view name, span<const uint64_t> dimensions, string_view format,
             span<const foreign_component> components, const attributes* of_object) {
        object_record object;
        object.name = put(name);
        object.shape = here();
        encode_shape(items_, dimensions);
        object.format_word = put(format);
        object.has_attributes = of_object != nullptr;
        if (of_object != nullptr) {
            object.attributes = here();
            encode_attributes(items_, *of_object);
        }
        object.component_count = static_cast<uint32_t>(components.size());
        object.first_component = static_cast<uint32_t>(components_.extend(components.size()));
        objects_.push_back(object);
        uint32_t address = object.first_component;
        for (const foreign_component& each : components) {
            component_record& part = components_[address++];
            part = {};
            part.role = put(each.role);
            part.dtype_word = put(each.dtype);
            part.type_word = put_unless_empty(each.type);
            part.digest_text = put_unless_empty(each.digest);
            part.offset = each.offset;
            part.length = each.length;
            part.is_big_endian = each.is_big_endian;
            part.any_nonzero_is_true = true; // as NumPy and PyTorch read bools
        }
    }

    /// An attribute of the file: its key; the caller appends the value, one item, to what this gives.
    [[nodiscard]] cbor_encoder& attribute(string_view key) {
        ++attribute_count_;
        attributes_.text(key);
        return attributes_;
    }
    /// The file has attributes, be they none.
    void has_attributes() noexcept { has_attributes_ = true; }

    /// Something that becomes neither an object nor an attribute, and why: see skipped_item.
    void skip(string_view name, string_view where, string why) {
        skipped_.push_back({utf8_of(name), utf8_of(where), std::move(why)});
    }
    /// All that was skipped, which goes to imported::skipped.
    [[nodiscard]] vector<skipped_item> take_skipped() noexcept { return std::move(skipped_); }

    /// Of objects so far, and the name of one of them.
    [[nodiscard]] size_t size() const noexcept { return objects_.size(); }
    [[nodiscard]] string_view name_of(size_t object) const noexcept {
        return text_at(items_.bytes().data() + objects_[object].name.position);
    }

    /// Bytes that items and records take so far, for importers whose headers could grow in them.
    [[nodiscard]] uint64_t bytes() const noexcept {
        return items_.size() + attributes_.size() + bytes_of_records(objects_, components_);
    }

    /// All of it. Errors: manifest_too_large.
    ZTENSOR_COLD result<model_draft> finish(uint64_t max_manifest_bytes) {
        constexpr uint64_t most_bytes = uint64_t{1} << 30; // positions of items have 32 bits
        if (bytes() > (std::min)(most_bytes, max_manifest_bytes)) {
            return fail(errc::manifest_too_large, "the index of the file takes {} bytes, more than the {} allowed",
                        {bytes(), (std::min)(most_bytes, max_manifest_bytes)});
        }
        model_draft draft;
        if (has_attributes_ || attribute_count_ != 0) {
            draft.attributes = here();
            items_.begin_map(attribute_count_);
            items_.encoded(attributes_.bytes());
        }
        draft.items = items_.release(scan_reach_bytes);
        draft.objects = std::move(objects_);
        draft.components = std::move(components_);
        return draft;
    }

private:
    [[nodiscard]] static string utf8_of(string_view text) {
        if (is_utf8(text)) {
            return string(text);
        }
        string escaped;
        for (const char each : text) {
            if (is_ascii({&each, 1})) {
                escaped += each;
            } else {
                append_hex(escaped += "\\x", static_cast<unsigned char>(each));
            }
        }
        return escaped;
    }

    /// Where the next item will stand: none is at the first byte.
    [[nodiscard]] index_item here() {
        if (items_.size() == 0) {
            items_.null();
        }
        return {static_cast<uint32_t>(items_.size())};
    }
    index_item put(string_view word) {
        const index_item item = here();
        items_.text(word);
        return item;
    }
    index_item put_unless_empty(string_view word) { return word.empty() ? index_item() : put(word); }

    cbor_encoder items_;
    cbor_encoder attributes_;
    record_blocks<object_record> objects_;
    record_blocks<component_record> components_;
    vector<skipped_item> skipped_;
    uint64_t attribute_count_ = 0;
    bool has_attributes_ = false;
};

// -- importer
//
// What an importer is given, what it gives back, and how that becomes a reader.

/// A file that is to be imported. An importer reads its header through the source, and of anything else nothing.
struct foreign_file {
    std::shared_ptr<const byte_source> source;
    native_path path; ///< as it was given
    const read_options& options;
};

/// An importer's answer.
struct imported {
    container_kind kind = container_kind::zt;
    /// The file, or an assembled_source that starts with it: what the index's offsets count in.
    std::shared_ptr<const byte_source> source;
    model_draft index;                  ///< see foreign_index
    vector<digest_cover> digest_covers; ///< in any order; of blobs whose digest is of more than their own bytes
    vector<skipped_item> skipped;       ///< see foreign_index::skip()
    bool blobs_may_overlap = false;     ///< as views of one storage do; else only equal ranges may
};

/// Reads `size` bytes at `offset` of a header into memory of our own. Errors: truncated, if the file does not hold
/// them; out_of_memory; what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<byte_buffer> read_header(const byte_source& source, uint64_t offset,
                                                                  uint64_t size) {
    if (!fits(offset, size, source.size())) {
        return fail(errc::truncated, "the file's header takes {} bytes from byte {} on, but the file has only {}",
                    {size, offset, source.size()});
    }
    byte_buffer bytes;
    ZTENSOR_TRY(allocate(bytes, size, "a header"));
    ZTENSOR_TRY(source.read_at(offset, bytes.writable_bytes()));
    return bytes;
}

struct reader_maker {
    /// An open .zt file.
    [[nodiscard]] static result<reader> open(const foreign_file& file) {
        // What a source far away is called is no path: its shards are those that it brings itself.
        const bool is_far = takes_time(*file.source) && source_access::file_of(*file.source) == nullptr;
        return reader::open_from(file.source, file.options, path_text(file.path), is_far ? native_path() : file.path);
    }
    /// What was imported of `file`, checked like a .zt file.
    [[nodiscard]] static result<reader> open(const foreign_file& file, imported made) {
        auto opened = std::make_shared<opened_file>();
        opened->file_bytes = file.source->size();
        opened->source = std::move(made.source);
        opened->options = file.options;
        opened->path = path_text(file.path);
        opened->index.container = made.kind;
        std::sort(made.digest_covers.begin(), made.digest_covers.end());
        opened->digest_covers = std::move(made.digest_covers);
        opened->skipped = std::move(made.skipped);
        opened->index.blobs_may_overlap = made.blobs_may_overlap;
        result<void> valid = guard_memory([&] { return open_foreign(*opened, std::move(made.index)); });
        return reader::opened_as(std::move(opened), std::move(valid));
    }
};

// -- opening
//
// What open_any() does once it has a source.

/// One file, of any format.
[[nodiscard]] result<reader> open_one(const foreign_file& file);

/// What the first bytes of a file say.
enum class file_content : uint8_t {
    tensors,  ///< a format that is read
    stand_in, ///< something in place of the file, such as a Git LFS pointer or an HTML page
    other,
};

/// Of a file whose name says nothing. What can't be read stands for another: opening it says why.
[[nodiscard]] file_content content_of(const foreign_file& file);

/// The files that an index names, which lie beside it.
[[nodiscard]] result<reader> open_index(const foreign_file& index);

// -- importers
//
// The importers that the compiled library has sources of their own for, each of which needs as much of the compiler's
// memory as the rest together.

/// An archive: a checkpoint, if it has a pickle of the name that PyTorch gives it, or the weights of Keras, else one of
/// arrays.
[[nodiscard]] result<imported> import_zip(const foreign_file& file);

/// A checkpoint from before archives: pickles with the storages behind them.
[[nodiscard]] result<imported> import_pt_legacy(const foreign_file& file);

/// A pickle alone, such as a dictionary of NumPy's arrays (.pkl, .pdparams): what torch.save did not write.
[[nodiscard]] result<imported> import_pickle(const foreign_file& file);

/// A checkpoint from before version 0.2: a tar archive of pickles.
[[nodiscard]] result<imported> import_pt_tar(const foreign_file& file);

/// Errors: file_too_small, manifest_out_of_bounds, manifest_too_large, header_malformed, json_malformed, not_built_in,
/// schema_type, schema_missing, duplicate_key, unknown_dtype, out_of_bounds, size_mismatch, blob_overlap,
/// unclaimed_bytes.
[[nodiscard]] result<imported> import_safetensors(const foreign_file& file);

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
