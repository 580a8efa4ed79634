// SPDX-License-Identifier: MIT
//
// What is made of all parts of a checkpoint: its index, and what is skipped.
#ifndef ZTENSOR_DETAIL_FOREIGN_PT_OBJECTS_HPP
#define ZTENSOR_DETAIL_FOREIGN_PT_OBJECTS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/byte_source.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/foreign_index.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/name_hashes.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class pt_objects {
public:
    explicit pt_objects(const read_options& options) noexcept : options_(options) {}

    /// A pickle of so many bytes follows: so much more may be listed of what is skipped.
    void expect_pickle(std::size_t bytes) noexcept { most_skipped_bytes_ += bytes; }

    /// Errors: manifest_too_large.
    [[nodiscard]] result<void> add(const std::string& name, span<const std::uint64_t> dimensions,
                                   std::string_view format, span<const foreign_component> components,
                                   const attributes* of_object = nullptr) {
        ++objects_;
        index_.add(name, dimensions, format, components, of_object);
        return check_size();
    }

    /// Where the caller appends the value of an attribute; null if one has the same name.
    [[nodiscard]] cbor_encoder* attribute(const std::string& name) {
        return attributes_.insert(name) ? &index_.attribute(name) : nullptr;
    }

    void skip(const std::string& name, std::string why) {
        constexpr std::size_t cost = 128; // of an item besides its texts
        if (first_skipped_.empty()) {
            first_skipped_ = sentence("{}: {}", {in_quotes(name), why});
        }
        const std::size_t size = name.size() + why.size() + cost;
        if (skipped_bytes_ + size > most_skipped_bytes_) {
            ++more_skipped_;
            return;
        }
        skipped_bytes_ += size;
        index_.skip(std::string_view(name).substr(0, max_name_bytes), "", std::move(why));
    }

    /// Values may stand in many places, each under a name of its own. Errors: manifest_too_large.
    [[nodiscard]] result<void> check_size() const {
        return index_.bytes() <= options_.max_manifest_bytes_
                   ? result<void>()
                   : fail(errc::manifest_too_large, "the index of the checkpoint takes more than the {} bytes allowed",
                          {options_.max_manifest_bytes_});
    }

    /// All of it. Errors: pickle_refused where no tensor can be read; those of the index.
    [[nodiscard]] result<imported> finish(std::shared_ptr<const byte_source> source) {
        if (!first_skipped_.empty() && objects_ == 0) {
            return fail(errc::pickle_refused, "no tensor of the checkpoint can be read: {}", {first_skipped_});
        }
        if (objects_ == 0 && !attributes_.empty()) {
            index_.skip("", "", "the checkpoint holds numbers and texts, but no tensor");
        }
        attributes_ = name_hashes(); // the index takes its memory
        if (more_skipped_ != 0) {
            index_.skip("", "", sentence("{} more values are skipped, too many to be listed", {more_skipped_}));
        }
        ZTENSOR_TRY_ASSIGN(byte_buffer index, index_.finish(options_.max_manifest_bytes_));
        imported made;
        made.kind = container_kind::pt;
        made.index = std::move(index);
        made.source = std::move(source);
        made.skipped = index_.take_skipped();
        made.blobs_may_overlap = true;
        return made;
    }

private:
    const read_options& options_;
    foreign_index index_;
    name_hashes attributes_; ///< of their names
    std::string first_skipped_;
    std::uint64_t objects_ = 0;
    std::size_t skipped_bytes_ = 0;
    /// Bounds the memory of the list of skipped values, beside the bytes of the pickles: a value may be shared by very
    /// many places, each with an item in the list.
    std::size_t most_skipped_bytes_ = std::size_t{256} << 10;
    std::uint64_t more_skipped_ = 0; ///< which are not listed
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
