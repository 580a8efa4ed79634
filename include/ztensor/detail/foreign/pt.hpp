// SPDX-License-Identifier: MIT
//
// PyTorch checkpoints: a ZIP archive of a pickle that describes tensors, and an entry for each storage they lie in.
#ifndef ZTENSOR_DETAIL_FOREIGN_PT_HPP
#define ZTENSOR_DETAIL_FOREIGN_PT_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/pickle_machine.hpp>
#include <ztensor/detail/foreign/pt_content.hpp>
#include <ztensor/detail/foreign/strided.hpp>
#include <ztensor/detail/foreign/zip.hpp>
#include <ztensor/detail/foreign/zip_content.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
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

/// The folder, with its slash, that a checkpoint's entries lie in; nothing if the archive is none.
[[nodiscard]] inline std::optional<std::string_view> find_pt_folder(const zip_directory& entries) noexcept {
    constexpr std::string_view pickle = "data.pkl";
    for (const zip_entry& each : entries.entries()) {
        const std::size_t slash = each.name.find('/');
        const std::size_t folder = slash == std::string_view::npos ? 0 : slash + 1;
        if (each.name.substr(folder) == pickle) {
            return each.name.substr(0, folder);
        }
    }
    return std::nullopt;
}

class pt_importer {
public:
    pt_importer(const foreign_file& file, const zip_directory& entries, std::string_view folder)
        : file_(file), folder_(folder),
          all_(std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_)) {
        for (const zip_entry& each : entries.entries()) {
            if (each.name.substr(0, folder.size()) == folder) {
                entries_.push_back({each.name.substr(folder.size()), &each, std::nullopt});
            }
        }
        std::sort(entries_.begin(), entries_.end(),
                  [](const known_entry& a, const known_entry& b) { return a.name < b.name; });
    }

    [[nodiscard]] result<imported> import(const std::string& stem) {
        if (result<void> known = read_byte_order(); !known) {
            return std::move(known).error();
        }
        const zip_entry& entry = *find_entry("data.pkl")->entry;
        const result<byte_buffer> pickle = read_content(*file_.source, entry, most_pickle_bytes(entry));
        if (!pickle) {
            return pickle.error();
        }
        result<pickled> content = pickle_machine(pickle->bytes()).run();
        if (!content) {
            return std::move(content).error();
        }
        content_ = *std::move(content);
        result<void> added = pt_walk(content_).run(
            stem, [&](const std::string& name, const pickle_value& value) { return add_tensor(name, value); },
            [&](const std::string& name, const pickle_value& value) { return add_attribute(name, value); });
        if (!added) {
            return std::move(added).error();
        }
        result<byte_buffer> index = index_.finish(file_.options.max_manifest_bytes_);
        if (!index) {
            return std::move(index).error();
        }
        imported made;
        made.kind = container_kind::pt;
        made.source = all_;
        made.index = *std::move(index);
        made.blobs_may_overlap = true;
        return made;
    }

private:
    struct known_entry {
        std::string_view name; ///< in the folder
        const zip_entry* entry;
        std::optional<std::uint64_t> offset; ///< of its content in all_, once somebody needed it
    };

    [[nodiscard]] known_entry* find_entry(std::string_view name) noexcept {
        const auto found = std::lower_bound(entries_.begin(), entries_.end(), name,
                                            [](const known_entry& a, std::string_view b) { return a.name < b; });
        return found != entries_.end() && found->name == name ? &*found : nullptr;
    }

    /// What is inflated is not bounded by the file, so that both limits hold for it.
    [[nodiscard]] std::uint64_t most_pickle_bytes(const zip_entry& entry) const noexcept {
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30; // positions in a pickle have 32 bits
        const std::uint64_t allowed = (std::min)(most_bytes, file_.options.max_manifest_bytes_);
        return entry.is_deflated ? (std::min)(allowed, file_.options.max_decoded_bytes_) : allowed;
    }

    /// Archives from before the entry are of a little-endian machine, as nearly all are.
    [[nodiscard]] result<void> read_byte_order() {
        const known_entry* const stated = find_entry("byteorder");
        if (stated == nullptr) {
            return {};
        }
        constexpr std::uint64_t most_bytes = 16;
        const result<byte_buffer> text = read_content(*file_.source, *stated->entry, most_bytes);
        if (!text) {
            return text.error();
        }
        const std::string_view order = as_text(text->bytes());
        is_big_endian_ = order == "big";
        return is_big_endian_ || order == "little"
                   ? result<void>()
                   : fail(errc::header_malformed, "the checkpoint's byte order is {}, neither little nor big",
                          {in_quotes(order)});
    }

    /// Values may stand in many places, each under a name of its own.
    [[nodiscard]] result<void> check_index_size() const {
        return index_.bytes() <= file_.options.max_manifest_bytes_
                   ? result<void>()
                   : fail(errc::manifest_too_large, "the index of the checkpoint takes more than the {} bytes allowed",
                          {file_.options.max_manifest_bytes_});
    }

    [[nodiscard]] result<void> add_attribute(const std::string& name, const pickle_value& value) {
        result<void> encoded = encode_pickled(content_, value, index_.attribute(name));
        return encoded ? check_index_size() : encoded;
    }

    /// Where the storage's bytes lie in all_. Errors: schema_missing, size_mismatch.
    [[nodiscard]] result<known_entry*> place_storage(const pickle_storage& storage) {
        known_entry* const found = find_entry("data/" + std::string(content_.text_of(storage.key)));
        if (found == nullptr) {
            return fail(errc::schema_missing, "the archive has no entry for storage {}",
                        {in_quotes(content_.text_of(storage.key))});
        }
        if (found->entry->size != storage.bytes) {
            return fail(errc::size_mismatch, "storage {} has {} bytes, but its entry {}",
                        {in_quotes(content_.text_of(storage.key)), storage.bytes, found->entry->size});
        }
        if (!found->offset) {
            const result<std::uint64_t> offset = place_content(*all_, *found->entry);
            if (!offset) {
                return offset.error();
            }
            found->offset = *offset;
        }
        return found;
    }

    [[nodiscard]] strided_shape shape_of(const pickle_tensor& tensor) const {
        strided_shape shape;
        for (std::size_t i = 1; i <= content_.count_at(tensor.sizes); ++i) {
            shape.sizes.push_back(size_of(content_, content_.values[tensor.sizes + i]));
            shape.strides.push_back(size_of(content_, content_.values[tensor.strides + i]));
        }
        return shape;
    }

    [[nodiscard]] result<void> add_tensor(const std::string& name, const pickle_value& value) {
        const pickle_tensor& tensor = content_.tensors[value.place];
        const result<known_entry*> storage = place_storage(content_.storages[tensor.storage]);
        if (!storage) {
            return storage.error();
        }
        strided_shape shape = shape_of(tensor);
        const pickle_global& element = pickle_globals[tensor.element];
        const std::uint64_t width = element.element_bytes;
        const std::optional<std::uint64_t> count = shape.count();
        const std::optional<std::uint64_t> bytes = count ? checked_multiply(*count, width) : std::nullopt;
        if (!bytes) {
            return fail(errc::shape_overflow, "the tensor has more elements or bytes than 64 bits can count");
        }
        const zip_entry& entry = *(*storage)->entry;
        const std::optional<std::uint64_t> reach = shape.reach();
        const std::uint64_t first = reach == std::uint64_t{0} ? 0 : tensor.offset; // nothing lies anywhere
        if (!reach || !fits(first, *reach, entry.size / width)) {
            return fail(errc::out_of_bounds, "the tensor reaches beyond its storage of {} elements",
                        {entry.size / width});
        }
        foreign_component data;
        data.dtype = element.dtype;
        data.type = element.type;
        data.offset = *(*storage)->offset + first * width;
        data.length = *bytes;
        data.is_big_endian = is_big_endian_ && data.dtype != "u8" && data.dtype != "i8" && data.dtype != "bool";
        std::string digest;
        const std::vector<std::uint64_t> sizes = shape.sizes;
        if (!shape.is_contiguous()) {
            const result<std::uint64_t> gathered = add_gathered(value.place, data.offset, std::move(shape), *bytes);
            if (!gathered) {
                return gathered.error();
            }
            data.offset = *gathered;
        } else if (*bytes == entry.size) { // the archive's checksum is that of all of its bytes
            digest = digest_text_of(entry);
            data.digest = digest;
        }
        index_.add(name, sizes, data);
        return check_index_size();
    }

    /// A tensor that stands in several places is gathered to one.
    [[nodiscard]] result<std::uint64_t> add_gathered(std::uint32_t tensor, std::uint64_t offset, strided_shape shape,
                                                     std::uint64_t bytes) {
        if (gathered_.empty()) {
            gathered_.resize(content_.tensors.size());
        }
        if (gathered_[tensor]) {
            return *gathered_[tensor];
        }
        const std::size_t width = pickle_globals[content_.tensors[tensor].element].element_bytes;
        const result<std::uint64_t> at =
            all_->add(std::make_unique<gathered_elements>(*all_, offset, std::move(shape), width,
                                                          file_.options.max_decoded_bytes_),
                      bytes);
        if (at) {
            gathered_[tensor] = *at;
        }
        return at;
    }

    const foreign_file& file_;
    std::string_view folder_;
    std::shared_ptr<assembled_source> all_;
    std::vector<known_entry> entries_; ///< by their name
    pickled content_;
    std::vector<std::optional<std::uint64_t>> gathered_; ///< where, of each tensor
    foreign_index index_;
    bool is_big_endian_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
