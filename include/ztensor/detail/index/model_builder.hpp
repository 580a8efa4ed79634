// SPDX-License-Identifier: MIT
//
// Filling a model, object by object, from whatever says what a file holds. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_MODEL_BUILDER_HPP
#define ZTENSOR_DETAIL_INDEX_MODEL_BUILDER_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/records.hpp>
#include <ztensor/detail/index/scan.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What no index says, such as another format's header: items, and records whose names, words, shapes and attributes
/// are such by their positions. No item stands at 0.
struct model_draft {
    byte_buffer items; ///< scan_reach_bytes of anything follow
    std::vector<object_record> objects;
    std::vector<component_record> components; ///< side by side for each object, in the order of objects
    index_item attributes;                    ///< of the file
};

/// Adds objects to a model, and sees whether names and blobs come in order: then none stands twice, and none overlap.
class model_builder {
public:
    explicit model_builder(manifest& into) noexcept : into_(into) {}

    /// An object whose components are in the model.
    void add(const object_record& object) {
        into_.objects.push_back(object);
        note_last();
    }
    /// The same of the last one in the model, where it was put by others.
    void note_last() noexcept {
        const object_record& object = into_.objects[into_.objects.size() - 1];
        into_.names_are_sorted = into_.names_are_sorted && (!last_name_.is_present() || is_behind_last(object.name));
        last_name_ = object.name;
        for (const component_record& each : static_cast<const manifest&>(into_).components_of(object)) {
            note_blob(each);
        }
    }

    /// Where the last blob ends, if all have come in order.
    [[nodiscard]] std::uint64_t blobs_reach() const noexcept { return blobs_reach_; }

private:
    [[nodiscard]] bool is_behind_last(index_item name) const noexcept {
        const std::string_view last = into_.text(last_name_), next = into_.text(name);
        const bool are_in_index = last_name_.position < into_.index.size() && name.position < into_.index.size();
        return are_in_index ? is_name_before(last, next) : last < next;
    }

    void note_blob(const component_record& component) noexcept {
        if (component.length != 0) {
            into_.blobs_are_in_order = into_.blobs_are_in_order && component.offset >= blobs_reach_;
            blobs_reach_ = component.offset + component.length; // if that wraps, its bounds will be refused
        }
    }

    manifest& into_;
    index_item last_name_;
    std::uint64_t blobs_reach_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
