// SPDX-License-Identifier: MIT
//
// What the manifest of a file being written will say: attributes, the objects so far, and what stays of an old file.
// SPEC.md section 3 and section 13.
#ifndef ZTENSOR_DETAIL_WRITE_MANIFEST_DRAFT_HPP
#define ZTENSOR_DETAIL_WRITE_MANIFEST_DRAFT_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/encoded_objects.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/write/draft_check.hpp>
#include <ztensor/detail/write/manifest_end.hpp>
#include <ztensor/detail/write/section_writer.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

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

class manifest_draft {
public:
    /// `options` are the writer's, which lives longer.
    explicit manifest_draft(const write_options& options) noexcept : options_(options) {}

    /// Of an old file that is gone on with: its manifest has these fields besides attributes and objects, encoded, and
    /// of 1.x.
    ZTENSOR_COLD void go_on(std::vector<std::byte> fields, std::size_t field_count) {
        old_fields_ = std::move(fields);
        old_field_count_ = field_count;
    }
    /// An object of the old file, which stands as `value` in its manifest. Its name is new.
    ZTENSOR_COLD void keep_old(std::string_view name, bytes_view value) {
        objects_.add_encoded(options_.version_, name, value);
    }

    /// The file's, so far.
    [[nodiscard]] ZTENSOR_COLD attributes file_attributes() const { return attributes_.value_or(attributes()); }
    /// In place of those that there are. Beside objects and attributes, the manifest has a table of `table_bytes`.
    [[nodiscard]] ZTENSOR_COLD result<void> set_attributes(attributes values, std::uint64_t table_bytes) {
        ZTENSOR_TRY_ASSIGN(attributes said, said_of_file(std::move(values)));
        if (options_.version_ == format_version::v0_1) {
            return not_expressible(options_.version_, "attributes of the file");
        }
        const std::uint64_t bytes = most_encoded_bytes(said);
        ZTENSOR_TRY(check_bytes(table_bytes + bytes));
        attributes_ = std::move(said);
        attributes_bytes_ = bytes;
        return {};
    }

    /// Another object may have this name.
    [[nodiscard]] result<void> check_new_name(std::string_view name) const {
        ZTENSOR_TRY(check_name(options_.version_, name));
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
    [[nodiscard]] result<void> check_form_of_name(std::string_view name) const {
        return is_canonical() ? detail::check_form_of_name(name) : result<void>();
    }

    /// The writer's own limits. Errors: limit_exceeded, manifest_too_large.
    [[nodiscard]] result<void> check_bounds(const object_entry& object, std::uint64_t table_bytes) const {
        if (object.components.size() > options_.max_components_per_object_) {
            return fail(errc::limit_exceeded,
                        "{} components, more than the {} of write_options::max_components_per_object",
                        {object.components.size(), options_.max_components_per_object_});
        }
        return check_bytes(table_bytes + attributes_bytes_ + most_encoded_bytes(object));
    }

    /// Takes a written object.
    void keep(const object_entry& object) {
        if (!is_version_2()) {
            objects_.add(options_.version_, object);
            return;
        }
        last_name_ = object.name;
        in_words_of_2_.clear();
        encode_object_2(in_words_of_2_, object);
        objects_.add_encoded(options_.version_, object.name, in_words_of_2_.bytes());
    }

    /// A second name, which is new, for an object.
    [[nodiscard]] ZTENSOR_COLD result<void> tie(std::string_view name, std::string_view of, std::uint64_t table_bytes) {
        if (options_.version_ == format_version::v0_1) {
            return not_expressible(options_.version_, "second name for a tensor");
        }
        if (!objects_.contains(of)) {
            return fail(errc::object_not_found, "there is no object {} that it could be tied to", {in_quotes(of)})
                .in_object(of);
        }
        const std::uint64_t more_bytes = name.size() + objects_.encoded_bytes_of(of);
        ZTENSOR_TRY(check_bytes(table_bytes + attributes_bytes_ + more_bytes));
        objects_.add_again(options_.version_, name, of);
        if (is_version_2()) {
            last_name_ = name;
        }
        return {};
    }

    /// With the footer.
    [[nodiscard]] ZTENSOR_COLD result<void> write(section_writer& file) const {
        const attributes* const of_file = attributes_ ? &*attributes_ : nullptr;
        const manifest_content content = {options_.version_, of_file, objects_, old_fields_, old_field_count_};
        return write_manifest(file, content);
    }

private:
    static constexpr std::uint64_t frame_bytes = 64; ///< around attributes and objects, at most

    [[nodiscard]] bool is_version_2() const noexcept { return options_.version_ == format_version::v2; }
    [[nodiscard]] bool is_canonical() const noexcept { return is_version_2() && !options_.any_order_; }

    /// Valid, and as the file's version has them: in version 2 in one form.
    [[nodiscard]] ZTENSOR_COLD result<attributes> said_of_file(attributes values) const {
        if (is_version_2()) {
            return attributes_in_2(values, depth_around_file_attributes);
        }
        ZTENSOR_TRY(check_attributes(options_.version_, values, depth_around_file_attributes));
        return values;
    }

    /// So many bytes more than the objects' still fit. Errors: manifest_too_large.
    [[nodiscard]] result<void> check_bytes(std::uint64_t more_bytes) const {
        const std::uint64_t bytes = frame_bytes + old_fields_.size() + objects_.encoded_bytes() + more_bytes;
        if (bytes <= options_.max_manifest_bytes_) {
            return {};
        }
        return fail(errc::manifest_too_large,
                    "the manifest could take {} bytes, more than the {} of write_options::max_manifest_bytes",
                    {bytes, options_.max_manifest_bytes_});
    }

    const write_options& options_;
    std::optional<attributes> attributes_;
    std::uint64_t attributes_bytes_ = 0; ///< that they take, at most
    encoded_objects objects_;
    std::string last_name_;             ///< of version 2: of the object before
    cbor_encoder in_words_of_2_;        ///< of version 2: an object on its way
    std::vector<std::byte> old_fields_; ///< besides attributes and objects
    std::size_t old_field_count_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
