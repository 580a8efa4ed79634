// SPDX-License-Identifier: MIT
//
// PyTorch: weights of which JSON says in which entry of an archive they lie, and how.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_PAYLOADS_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_PAYLOADS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/json.hpp>
#include <ztensor/version.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr uint64_t pt_strided_layout = 7;

struct pt_payload {
    string name;
    string path; ///< of its entry, in the folder
    bool is_pickled = false;
    bool is_tensor = false; ///< then the others are given, too
    uint64_t dtype = 0;     ///< a number of torch.export, like the next
    uint64_t layout = pt_strided_layout;
    uint64_t offset = 0; ///< in elements
    vector<uint64_t> sizes;
    vector<uint64_t> strides;
};

// -- compiled weights

/// What AOTInductor says of the weights of a model that it compiled: {"name": ["file", [sizes], [strides], offset]},
/// views of tensors that torch.save wrote, one to a file.
class aoti_listener final : public json_listener {
public:
    explicit aoti_listener(uint64_t max_objects) noexcept : max_objects_(max_objects) {}

    vector<pt_payload> weights;

    [[nodiscard]] bool begin_object() override { return depth_++ == 0 || wrong(); }
    [[nodiscard]] bool end_object() override { return --depth_, true; }
    [[nodiscard]] bool key(string_view name) override {
        weights.emplace_back();
        weights.back().name = name;
        return weights.size() <= max_objects_ ||
               refuse(fail(errc::limit_exceeded, "there are more than {} weights", {max_objects_}));
    }
    [[nodiscard]] bool begin_array() override {
        const bool is_weight = depth_ == 1, is_list = depth_ == 2 && (field_ == sizes || field_ == strides);
        field_ = is_weight ? 0 : field_;
        ++depth_;
        return is_weight || is_list || wrong();
    }
    [[nodiscard]] bool end_array() override {
        --depth_;
        return depth_ == 2 ? ++field_ != 0 : field_ == fields || wrong();
    }
    [[nodiscard]] bool text(string_view value) override {
        if (depth_ != 2 || field_ != 0) {
            return wrong();
        }
        weights.back().path = value;
        return ++field_ != 0;
    }
    [[nodiscard]] bool unsigned_integer(uint64_t value) override {
        if (depth_ == 3) {
            (field_ == sizes ? weights.back().sizes : weights.back().strides).push_back(value);
            return true;
        }
        if (depth_ != 2 || field_ != offset) {
            return wrong();
        }
        weights.back().offset = value;
        return ++field_ != 0;
    }
    [[nodiscard]] bool other(const char*) override { return wrong(); }

private:
    static constexpr unsigned sizes = 1, strides = 2, offset = 3, fields = 4;

    ZTENSOR_COLD bool wrong() {
        return refuse(fail(errc::schema_type, "the weights are described otherwise than AOTInductor does it"));
    }

    uint64_t max_objects_;
    unsigned depth_ = 0;
    unsigned field_ = 0; ///< of the weight that is open
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
