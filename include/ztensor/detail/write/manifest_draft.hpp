// SPDX-License-Identifier: MIT
//
// What the manifest of a file being written will say: attributes, the objects so far, and what stays of an old file.
// Objects are encoded as they come, and put in order at the end. SPEC.md section 3, section 8, section 10, section 13.
#ifndef ZTENSOR_DETAIL_WRITE_MANIFEST_DRAFT_HPP
#define ZTENSOR_DETAIL_WRITE_MANIFEST_DRAFT_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/write/draft_check.hpp>
#include <ztensor/detail/write/section_writer.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Every object so far: its name and what stands for it in the manifest, all in one run of bytes. Where the names came
/// in order, that run is the manifest's.
class encoded_objects {
    struct name_of {
        const encoded_objects* all;
        string_view operator()(size_t position) const noexcept { return all->name(position); }
    };

public:
    explicit encoded_objects(format_version version) noexcept : version_(version) {}

    [[nodiscard]] size_t size() const noexcept { return places_.size(); }
    [[nodiscard]] bool contains(string_view name) const noexcept {
        return names_.find(name, name_of{this}) != name_table::absent;
    }
    /// Of all objects as the manifest holds them.
    [[nodiscard]] uint64_t encoded_bytes() const noexcept { return encoded_bytes_; }

    /// Takes in an object of a name that is new. Throws std::bad_alloc, and then is of no use any more.
    ZTENSOR_NOINLINE void add(const object_entry& object) {
        begin_object(object.name);
        encode_object(text_, version_, object);
        end_object();
    }
    /// The same, where what stands for it is known.
    ZTENSOR_COLD void add_encoded(string_view of_name, bytes_view value) {
        begin_object(of_name);
        text_.encoded(value);
        end_object();
    }

    /// Of one that is there: what it takes, and what stands for it under another name that is new. Not of 0.1. Throws
    /// std::bad_alloc.
    [[nodiscard]] ZTENSOR_COLD uint64_t encoded_bytes_of(string_view of_name) const noexcept {
        const place& at = places_[names_.find(of_name, name_of{this})];
        return at.end - at.begin;
    }
    ZTENSOR_COLD void add_again(string_view other_name, string_view of_name) {
        const place at = places_[names_.find(of_name, name_of{this})];
        const bytes_view value = text_.bytes().subspan(at.value, at.end - at.value);
        const vector<byte> copy(value.begin(), value.end()); // `text_` may move as it grows
        add_encoded(other_name, copy);
    }

    /// Calls `take(bytes) -> result<void>` for all objects as the manifest holds them, in pieces of any size, until one
    /// fails.
    template <class Take>
    ZTENSOR_COLD result<void> hand_over(const Take& take) const {
        const bool is_0_1 = version_ == format_version::v0_1; // whose tensors stand as they came, and say their names
        if (is_sorted_ && !is_0_1) {
            return take(text_.bytes());
        }
        const auto is_before = [&](uint32_t a, uint32_t b) { return comes_before(name(a), name(b)); };
        const vector<uint32_t> order = is_0_1 ? vector<uint32_t>() : positions_in_order(size(), is_before);
        cbor_encoder piece;
        constexpr size_t piece_bytes = size_t{1} << 16;
        for (size_t i = 0; i < size(); ++i) {
            piece.encoded(encoded(is_0_1 ? i : order[i]));
            if (piece.size() >= piece_bytes || i + 1 == size()) {
                ZTENSOR_TRY(take(piece.bytes()));
                piece.clear();
            }
        }
        return {};
    }

private:
    struct place {    // in text_
        size_t begin; ///< of the name, as an item
        size_t value; ///< where the name ends, and what stands for the object begins
        size_t end;
        size_t name_bytes;
    };

    void begin_object(string_view of_name) {
        is_sorted_ = is_sorted_ && (size() == 0 || comes_before(name(size() - 1), of_name));
        place& added = *places_.extend(1);
        added.begin = text_.size();
        text_.text(of_name);
        added.value = text_.size();
        added.name_bytes = of_name.size();
    }
    void end_object() {
        places_[size() - 1].end = text_.size();
        encoded_bytes_ += encoded(size() - 1).size();
        names_.add(name_of{this});
    }

    [[nodiscard]] string_view name(size_t position) const noexcept {
        const place& at = places_[position];
        return as_text(text_.bytes().subspan(at.value - at.name_bytes, at.name_bytes));
    }
    /// But in 0.1 with its name before it.
    [[nodiscard]] bytes_view encoded(size_t position) const noexcept {
        const place& at = places_[position];
        const size_t begin = version_ == format_version::v0_1 ? at.value : at.begin;
        return text_.bytes().subspan(begin, at.end - begin);
    }
    /// In 1.x by the bytes of their names, in 2 by those of their keys.
    [[nodiscard]] bool comes_before(string_view a, string_view b) const noexcept {
        return version_ == format_version::v2 ? is_before_by_length(a, b) : a < b;
    }

    format_version version_;
    cbor_encoder text_; ///< of each object its name, and what stands for it
    record_array<place> places_;
    growing_name_table names_;
    uint64_t encoded_bytes_ = 0;
    bool is_sorted_ = true;
};

class manifest_draft {
public:
    /// `options` are the writer's, which lives longer.
    explicit manifest_draft(const write_options& options) noexcept : options_(options), objects_(options.version()) {}

    /// Of an old file that is gone on with: its manifest has these fields besides attributes and objects.
    ZTENSOR_COLD void go_on(vector<root_field> fields) {
        for (const root_field& each : fields) {
            old_fields_bytes_ += each.pair.size();
        }
        old_fields_ = std::move(fields);
    }
    /// An object of the old file, which stands as `value` in its manifest. Its name is new.
    ZTENSOR_COLD void keep_old(string_view name, bytes_view value) { objects_.add_encoded(name, value); }

    /// The file's, so far.
    [[nodiscard]] ZTENSOR_COLD attributes file_attributes() const { return attributes_.value_or(attributes()); }
    /// In place of those that there are. Beside objects and attributes, the manifest has a table of `table_bytes`.
    ZTENSOR_COLD result<void> set_attributes(attributes values, uint64_t table_bytes) {
        ZTENSOR_TRY_ASSIGN(attributes said, said_of_file(std::move(values)));
        if (options_.version() == format_version::v0_1) {
            return not_expressible(options_.version(), "attributes of the file");
        }
        const uint64_t bytes = most_encoded_bytes(said);
        ZTENSOR_TRY(check_bytes(table_bytes + bytes));
        attributes_ = std::move(said);
        attributes_bytes_ = bytes;
        return {};
    }

    /// Another object may have this name.
    result<void> check_new_name(string_view name) const {
        ZTENSOR_TRY(check_name(options_.version(), name));
        if (objects_.contains(name)) {
            return fail(errc::duplicate_key, "an object of this name has been written already");
        }
        if (is_canonical() && name < last_name_) {
            return fail(errc::invalid_argument,
                        "in canonical form it comes before {}: add objects in the order of their names, or ask for "
                        "write_options::any_order()",
                        {in_quotes(last_name_)});
        }
        return check_form_of_name(name);
    }

    /// Of any name that the manifest is to have.
    result<void> check_form_of_name(string_view name) const {
        return is_canonical() ? detail::check_form_of_name(name) : result<void>();
    }

    /// The writer's own limits. Errors: limit_exceeded, manifest_too_large.
    result<void> check_bounds(const object_entry& object, uint64_t table_bytes) const {
        if (object.components.size() > options_.max_components_per_object()) {
            return fail(errc::limit_exceeded,
                        "{} components, more than the {} of write_options::max_components_per_object",
                        {object.components.size(), options_.max_components_per_object()});
        }
        return check_bytes(table_bytes + attributes_bytes_ + most_encoded_bytes(object));
    }

    /// Takes a written object.
    void keep(const object_entry& object) {
        objects_.add(object);
        if (is_canonical()) {
            last_name_ = object.name;
        }
    }

    /// A second name, which is new, for an object.
    ZTENSOR_COLD result<void> tie(string_view name, string_view of, uint64_t table_bytes) {
        if (options_.version() == format_version::v0_1) {
            return not_expressible(options_.version(), "second name for a tensor");
        }
        if (!objects_.contains(of)) {
            return fail(errc::object_not_found, "there is no object {} that it could be tied to", {in_quotes(of)})
                .in_object(of);
        }
        const uint64_t more_bytes = name.size() + objects_.encoded_bytes_of(of);
        ZTENSOR_TRY(check_bytes(table_bytes + attributes_bytes_ + more_bytes));
        objects_.add_again(name, of);
        if (is_canonical()) {
            last_name_ = name;
        }
        return {};
    }

    /// With the footer. Before version 2 the manifest follows the last blob; there it is a blob itself, of which the
    /// footer gives the place and the XXH3.
    ZTENSOR_COLD result<void> write(section_writer& file) const {
        footer_2 footer;
        if (manifest_is_blob()) {
            ZTENSOR_TRY(file.end_shards());
            ZTENSOR_TRY_ASSIGN(footer.manifest_offset, file.begin_aligned());
        }
        digest_memory hash;
        xxh3_start(hash);
        const auto write = [&](bytes_view bytes) {
            if (manifest_is_blob()) {
                xxh3_update(hash, bytes);
            }
            footer.manifest_length += bytes.size();
            return file.write(bytes);
        };
        const vector<root_field> fields = root_fields(file.shards());
        cbor_encoder text;
        if (options_.version() == format_version::v0_1) {
            text.begin_array(objects_.size());
        } else {
            text.begin_map(fields.size());
        }
        ZTENSOR_TRY(write(text.bytes()));
        for (const root_field& field : fields) {
            ZTENSOR_TRY(write(field.pair));
            if (field.is_objects) {
                ZTENSOR_TRY(objects_.hand_over(write));
            }
        }
        if (manifest_is_blob()) {
            footer.manifest_hash = xxh3_value(hash);
            const auto end = encode_footer_2(footer);
            return file.write({end.data(), end.size()});
        }
        text.clear();
        encode_footer(text, options_.version(), footer.manifest_length);
        return file.write(text.bytes());
    }

private:
    static constexpr uint64_t frame_bytes = 64; ///< around attributes and objects, at most

    /// In their order: in version 2 that of their keys. 0.1 has nothing but its tensors.
    [[nodiscard]] ZTENSOR_COLD vector<root_field> root_fields(const shard_files* shards) const {
        if (options_.version() == format_version::v0_1) {
            return {{{}, 0, true}};
        }
        vector<root_field> fields = old_fields_; // their version first
        cbor_encoder text;
        const auto add = [&](string_view key, const auto& encode) {
            text.clear();
            text.text(key);
            const size_t key_bytes = text.size();
            encode();
            fields.push_back({{text.bytes().begin(), text.bytes().end()}, key_bytes, key == "objects"});
        };
        if (!manifest_is_blob() && fields.empty()) {
            add("version", [&] { text.text(text_of(options_.version())); });
        }
        if (attributes_) {
            add("attributes", [&] {
                manifest_is_blob() ? encode_attributes_2(text, *attributes_) : encode_attributes(text, *attributes_);
            });
        }
        if (shards != nullptr && shards->count() != 0) {
            add("shards", [&] { shards->encode_table(text); });
        }
        add("objects", [&] { text.begin_map(objects_.size()); });
        if (manifest_is_blob()) {
            std::sort(fields.begin(), fields.end(),
                      [](const root_field& a, const root_field& b) { return a.key() < b.key(); });
        }
        return fields;
    }

    [[nodiscard]] bool manifest_is_blob() const noexcept { return options_.version() == format_version::v2; }
    [[nodiscard]] bool is_canonical() const noexcept { return manifest_is_blob() && !options_.is_any_order(); }

    /// Valid, and as the file's version has them: in version 2 in one form.
    ZTENSOR_COLD result<attributes> said_of_file(attributes values) const {
        if (manifest_is_blob()) {
            return deterministic_attributes(values, depth_around_file_attributes);
        }
        ZTENSOR_TRY(check_attributes(options_.version(), values, depth_around_file_attributes));
        return values;
    }

    /// So many bytes more than the objects' still fit. Errors: manifest_too_large.
    result<void> check_bytes(uint64_t more_bytes) const {
        const uint64_t bytes = frame_bytes + old_fields_bytes_ + objects_.encoded_bytes() + more_bytes;
        if (bytes <= options_.max_manifest_bytes()) {
            return {};
        }
        return fail(errc::manifest_too_large,
                    "the manifest could take {} bytes, more than the {} of write_options::max_manifest_bytes",
                    {bytes, options_.max_manifest_bytes()});
    }

    const write_options& options_;
    optional<attributes> attributes_;
    uint64_t attributes_bytes_ = 0; ///< that they take, at most
    encoded_objects objects_;
    string last_name_;              ///< of the object before, in canonical form
    vector<root_field> old_fields_; ///< besides attributes and objects
    uint64_t old_fields_bytes_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
