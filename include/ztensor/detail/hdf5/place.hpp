// SPDX-License-Identifier: MIT
//
// Where the HDF5 file is: the file itself, or an entry of an archive that Keras wrote.
#ifndef ZTENSOR_DETAIL_HDF5_PLACE_HPP
#define ZTENSOR_DETAIL_HDF5_PLACE_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/foreign_index.hpp>
#include <ztensor/detail/foreign/hdf5_signature.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/zip.hpp>
#include <ztensor/detail/foreign/zip_content.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/detail/read/range_source.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct hdf5_place {
    std::shared_ptr<const byte_source> source; ///< of the HDF5 file alone
    std::uint64_t begin = 0;                   ///< of the same bytes in the assembled source
};

/// Content that was inflated.
class inflated_source final : public byte_source {
public:
    explicit inflated_source(byte_buffer content) noexcept : content_(std::move(content)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        result<void> inside = check_range(offset, destination.size(), content_.size());
        if (inside && !destination.empty()) {
            std::memcpy(destination.data(), content_.data() + offset, destination.size());
        }
        return inside;
    }
    [[nodiscard]] bytes_view mapped() const noexcept override { return content_.bytes(); }

private:
    byte_buffer content_;
};

/// The weights in an archive. Its other entries, besides what Keras says of the model, are skipped.
[[nodiscard]] ZTENSOR_COLD inline result<hdf5_place> find_hdf5_in_archive(const foreign_file& file,
                                                                          assembled_source& all, foreign_index& index) {
    ZTENSOR_TRY_ASSIGN(const zip_directory directory, zip_directory::read(*file.source, file.options));
    const zip_entry* const weights = find_keras_weights(directory);
    if (weights == nullptr) {
        return fail(errc::foreign_file, "the file is a ZIP archive without an entry model.weights.h5");
    }
    for (const zip_entry& each : directory.entries()) {
        const bool is_folder = each.name.back() == '/' && each.size == 0;
        if (&each != weights && !is_folder && each.name != "config.json" && each.name != "metadata.json") {
            index.skip(each.name, "the archive", "only model.weights.h5 is read of a Keras archive");
        }
    }
    hdf5_place place;
    if (!weights->is_deflated) {
        place.source = std::make_shared<range_source>(file.source, weights->offset, weights->size);
        place.begin = weights->offset;
        return place;
    }
    ZTENSOR_TRY_ASSIGN(byte_buffer content, read_content(*file.source, *weights, file.options.max_decoded_bytes_));
    place.source = std::make_shared<inflated_source>(std::move(content));
    ZTENSOR_TRY_ASSIGN(const std::uint64_t begin, all.add(place.source, 0, place.source->size()));
    place.begin = begin;
    return place;
}

/// Errors: foreign_file for what is neither; those of the archive.
[[nodiscard]] ZTENSOR_COLD inline result<hdf5_place> find_hdf5(const foreign_file& file, assembled_source& all,
                                                               foreign_index& index) {
    ZTENSOR_TRY_ASSIGN(const bool is_hdf5, has_hdf5_signature(*file.source));
    if (is_hdf5) {
        return hdf5_place{file.source, 0};
    }
    constexpr std::string_view zip_magic = "PK\x03\x04";
    std::byte start[zip_magic.size()] = {};
    if (file.source->size() >= sizeof start) {
        ZTENSOR_TRY(file.source->read_at(0, span<std::byte>(start)));
    }
    if (as_text(bytes_view(start)) == zip_magic) {
        return find_hdf5_in_archive(file, all, index);
    }
    return fail(errc::foreign_file, "the file is no HDF5 file: it lacks the signature of the superblock, "
                                    "89 48 44 46 0d 0a 1a 0a");
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
