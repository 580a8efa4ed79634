// SPDX-License-Identifier: MIT
//
// An object that is to be written, as a reader of the file will see it: the model of a manifest that holds it alone, so
// that the rules for what is read judge what is written, too. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_WRITE_DRAFT_MODEL_HPP
#define ZTENSOR_DETAIL_WRITE_DRAFT_MODEL_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class draft_model {
public:
    /// Fills `into` with `object`, its blobs one after the other. Gives where they end.
    /// Errors: schema_missing (no components), shape_overflow, cbor_utf8, too_large_for_host, type_mismatch.
    [[nodiscard]] ZTENSOR_COLD static result<std::uint64_t> make(format_version version, const object_entry& object,
                                                                 manifest& into) {
        if (object.components.empty()) {
            return fail(errc::schema_missing, "an object has no components");
        }
        ZTENSOR_TRY(check_countable(version, *object.shape));
        if (!is_utf8(object.format)) {
            return fail(errc::cbor_utf8, "a format that is not UTF-8");
        }
        draft_model model(version, into);
        model.add_object(object);
        for (const component_entry& component : object.components) {
            if (result<void> added = model.add_component(component); !added) {
                return std::move(added).error().in_component(component.role);
            }
        }
        return model.finish();
    }

private:
    draft_model(format_version version, manifest& into) : version_(version), into_(into) {
        text_.null(); // no item of an index stands at its first byte
        into.generation = version == format_version::v0_1   ? generation::v0_1
                          : version == format_version::v1_1 ? generation::v1_1
                          : version == format_version::v1_2 ? generation::v1_2
                                                            : generation::v2;
    }

    ZTENSOR_COLD void add_object(const object_entry& object) {
        object_record record;
        record.name = put(object.name);
        record.format_word = put(object.format);
        if (version_ == format_version::v2) {
            record.format = find_layout(object.format);
        } else if (!object.keeps_word) {
            record.format = find_format(object.format);
        }
        record.shape = here();
        encode_shape(text_, *object.shape);
        record.has_attributes = object.attributes != nullptr;
        record.attributes = here();
        encode_attributes(text_, object.attributes != nullptr ? *object.attributes : attributes());
        record.component_count = static_cast<std::uint32_t>(object.components.size());
        record.first_component = static_cast<std::uint32_t>(into_.components.extend(object.components.size()));
        into_.objects.push_back(record);
    }

    [[nodiscard]] ZTENSOR_COLD result<void> add_component(const component_entry& entry) {
        for (const std::string_view word : {entry.dtype, entry.type.value_or(""), entry.encoding, entry.digest()}) {
            if (!is_utf8(word)) {
                return fail(errc::cbor_utf8, "the word {} is not UTF-8", {in_quotes(word)});
            }
        }
        const std::optional<std::uint64_t> behind = checked_add(end_, entry.length);
        const std::optional<std::uint64_t> aligned = behind ? checked_align(*behind, blob_alignment) : std::nullopt;
        if (!aligned) {
            return fail(errc::too_large_for_host, "the object takes more than 2^64 bytes");
        }
        component_record record;
        record.role = put(entry.role);
        record.offset = end_;
        record.length = entry.length;
        interpret(entry, record);
        const logical_type_facts* const type =
            version_ == format_version::v2 ? find_any_logical_type(entry.type.value_or("")) : nullptr;
        if (type != nullptr && !(record.dtype == type->storage)) { // which a reader of version 2 finds before all else
            return not_stored_as(*type, entry.dtype);
        }
        into_.components[into_.objects[0].first_component + added_++] = record;
        end_ = *aligned;
        return {};
    }

    /// What the words mean in the version that is written.
    ZTENSOR_COLD void interpret(const component_entry& entry, component_record& record) {
        const bool is_0_1 = version_ == format_version::v0_1;
        record.dtype_word = put(entry.dtype);
        record.dtype = find_storage(entry.dtype, storage_names);
        if (version_ == format_version::v2) {
            interpret_2(entry, record);
            return;
        }
        if (version_ == format_version::v1_2 && entry.type) {
            record.type_word = put(*entry.type);
            interpret_type(*entry.type, entry.dtype, record);
        } else if (const logical_type_facts* const type = known_type(entry)) { // 1.1, in place of the storage type
            record.logical_type = static_cast<std::uint8_t>(type - logical_types.data());
        }
        record.encoding = find_encoding(entry.encoding);
        record.encoding_word = put(entry.encoding);
        if (entry.has_digest()) {
            record.digest_text = put(entry.digest());
        }
        if (version_ == format_version::v1_2 && entry.uncompressed_length) {
            record.states_uncompressed_length = record.knows_uncompressed_length = true;
            record.uncompressed_length = *entry.uncompressed_length;
        }
        record.is_big_endian = entry.is_big_endian;
        record.any_nonzero_is_true = is_0_1;
        const known_word<format> layout = into_.objects[0].format;
        record.holds_indices = is_0_1 && (layout == format::sparse_csr || layout == format::sparse_coo);
    }

    ZTENSOR_COLD void interpret_2(const component_entry& entry, component_record& record) {
        if (entry.type) {
            const logical_type_facts* const type = find_any_logical_type(*entry.type);
            record.type_word = put(*entry.type);
            record.logical_type =
                type != nullptr ? static_cast<std::uint8_t>(type - logical_types.data()) : unknown_type;
        }
        const bool is_raw = !entry.uncompressed_length;
        record.encoding = is_raw ? std::optional(encoding::raw) : find_registered_encoding(entry.encoding);
        if (!is_raw) {
            record.encoding_word = put(entry.encoding);
            record.states_uncompressed_length = record.knows_uncompressed_length = true;
            record.uncompressed_length = *entry.uncompressed_length;
        }
    }

    [[nodiscard]] result<std::uint64_t> finish() {
        const bytes_view text = text_.bytes();
        if (!into_.index.allocate(text.size())) {
            return fail(errc::out_of_memory, "memory ran out");
        }
        std::memcpy(into_.index.data(), text.data(), text.size());
        return end_;
    }

    [[nodiscard]] index_item here() const noexcept { return {static_cast<std::uint32_t>(text_.bytes().size())}; }
    index_item put(std::string_view word) {
        const index_item item = here();
        text_.text(word);
        return item;
    }

    format_version version_;
    manifest& into_;
    cbor_encoder text_; ///< of all items
    std::uint64_t end_ = blob_alignment;
    std::uint32_t added_ = 0; ///< components
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
