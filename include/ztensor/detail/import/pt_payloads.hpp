// SPDX-License-Identifier: MIT
//
// What a program of torch.export says of its weights in JSON: of each name the entry that holds it, and how its numbers
// lie there. Knows no archive.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_PAYLOADS_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_PAYLOADS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/json.hpp>
#include <ztensor/detail/import/pickle_globals.hpp>
#include <ztensor/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::uint64_t pt_strided_layout = 7;

struct pt_payload {
    std::string name;
    std::string path; ///< of its entry, in the folder
    bool is_pickled = false;
    bool is_tensor = false;  ///< then the others are given, too
    std::uint64_t dtype = 0; ///< a number of torch.export, like the next
    std::uint64_t layout = pt_strided_layout;
    std::uint64_t offset = 0; ///< in elements
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> strides;
};

/// The dtype that torch.export has for a number; null for none.
[[nodiscard]] inline const pickle_global* find_pt_dtype(std::uint64_t number) noexcept {
    struct row {
        std::uint64_t number;
        std::string_view name;
    };
    constexpr row rows[] = {
        {1, "uint8"},
        {2, "int8"},
        {3, "int16"},
        {4, "int32"},
        {5, "int64"},
        {6, "float16"},
        {7, "float32"},
        {8, "float64"},
        {9, "complex32"},
        {10, "complex64"},
        {11, "complex128"},
        {12, "bool"},
        {13, "bfloat16"},
        {28, "uint16"},
        {29, "float8_e4m3fn"},
        {30, "float8_e5m2"},
        {31, "float8_e4m3fnuz"},
        {32, "float8_e5m2fnuz"},
        {33, "float8_e8m0fnu"},
        {34, "uint32"},
        {35, "uint64"},
    };
    for (const row& each : rows) {
        if (each.number == number) {
            return find_pickle_global("torch", each.name);
        }
    }
    return nullptr;
}

class pt_payload_taker {
public:
    virtual ~pt_payload_taker() = default;
    [[nodiscard]] virtual result<void> take(const pt_payload& payload) = 0;
};

/// The JSON -> payloads, one after the other. What PyTorch says besides is passed over.
class pt_payload_listener final : public json_listener {
public:
    explicit pt_payload_listener(pt_payload_taker& to) noexcept : to_(to) {}

    /// Of the whole text, once it is told.
    [[nodiscard]] bool has_config() const noexcept { return has(field::config); }
    [[nodiscard]] error why() const override { return why_; }

    [[nodiscard]] bool begin_object() override {
        if (is_passed_over()) {
            return ++ignored_depth_ != 0;
        }
        switch (here()) {
        case place::start:
            return enter(place::root);
        case place::root:
            return enter(place::config);
        case place::config:
            return enter_payload();
        case place::payload:
            payload_.is_tensor = field_ == field::tensor;
            return payload_.is_tensor ? enter(place::tensor) : refuse_kind("an object");
        case place::tensor:
            return field_ == field::offset ? enter_number() : refuse_kind("an object");
        case place::list:
            return enter_number();
        default:
            return refuse_kind("an object");
        }
    }
    [[nodiscard]] bool end_object() override {
        if (ignored_depth_ != 0) {
            --ignored_depth_;
            return true;
        }
        const place left = here();
        --depth_;
        return left == place::number ? end_number() : left == place::payload ? end_payload() : true;
    }
    [[nodiscard]] bool key(std::string_view name) override {
        if (ignored_depth_ != 0) {
            return true;
        }
        if (here() == place::config) {
            payload_.name = name;
            return true;
        }
        field_ = find_field(here(), name);
        if (field_ != field::unknown && has(field_)) {
            return refuse(errc::duplicate_key, "it has the field {} twice", {in_quotes(name)});
        }
        seen_ |= bit_of(field_);
        return true;
    }
    [[nodiscard]] bool begin_array() override {
        if (is_passed_over()) {
            return ++ignored_depth_ != 0;
        }
        if (here() != place::tensor || (field_ != field::sizes && field_ != field::strides)) {
            return refuse_kind("an array");
        }
        list_ = field_ == field::sizes ? &payload_.sizes : &payload_.strides;
        return enter(place::list);
    }
    [[nodiscard]] bool end_array() override {
        ignored_depth_ != 0 ? --ignored_depth_ : --depth_;
        return true;
    }
    [[nodiscard]] bool unsigned_integer(std::uint64_t value) override {
        if (is_passed_over()) {
            return true;
        }
        std::uint64_t* const to = is_at(place::tensor, field::dtype)    ? &payload_.dtype
                                  : is_at(place::tensor, field::layout) ? &payload_.layout
                                  : is_at(place::number, field::number) ? &number_
                                                                        : nullptr;
        if (to == nullptr) {
            return refuse_kind("a number");
        }
        *to = value;
        return true;
    }
    [[nodiscard]] bool text(std::string_view value) override {
        if (is_passed_over()) {
            return true;
        }
        if (!is_at(place::payload, field::path)) {
            return refuse_kind("text");
        }
        payload_.path = value;
        return true;
    }
    [[nodiscard]] bool boolean(bool value) override {
        if (!is_at(place::payload, field::is_pickled)) {
            return other("a truth value");
        }
        payload_.is_pickled = value;
        return true;
    }
    [[nodiscard]] bool null() override {
        return is_at(place::payload, field::tensor) || other("null"); // as an object has that is no tensor
    }
    [[nodiscard]] bool other(const char* what) override { return is_passed_over() || refuse_kind(what); }

private:
    enum class place : std::uint8_t { start, root, config, payload, tensor, list, number };
    enum class field : std::uint8_t {
        config,
        path,
        is_pickled,
        tensor,
        dtype,
        layout,
        offset,
        sizes,
        strides,
        number,
        unknown
    };
    struct field_name {
        place in;
        std::string_view name;
        field is;
    };

    [[nodiscard]] static field find_field(place in, std::string_view name) noexcept {
        constexpr field_name names[] = {
            {place::root, "config", field::config},
            {place::payload, "path_name", field::path},
            {place::payload, "use_pickle", field::is_pickled},
            {place::payload, "tensor_meta", field::tensor},
            {place::tensor, "dtype", field::dtype},
            {place::tensor, "layout", field::layout},
            {place::tensor, "storage_offset", field::offset},
            {place::tensor, "sizes", field::sizes},
            {place::tensor, "strides", field::strides},
            {place::number, "as_int", field::number},
        };
        for (const field_name& each : names) {
            if (each.in == in && each.name == name) {
                return each.is;
            }
        }
        return field::unknown;
    }
    [[nodiscard]] static unsigned bit_of(field of) noexcept {
        return of == field::unknown ? 0 : 1u << static_cast<unsigned>(of);
    }
    [[nodiscard]] bool has(field of) const noexcept { return (seen_ & bit_of(of)) != 0; }

    [[nodiscard]] place here() const noexcept { return depth_ == 0 ? place::start : open_[depth_ - 1]; }
    [[nodiscard]] bool is_at(place at, field of) const noexcept {
        return ignored_depth_ == 0 && here() == at && field_ == of;
    }
    /// Within a field that is not known.
    [[nodiscard]] bool is_passed_over() const noexcept {
        const place at = here();
        const bool has_fields = at == place::root || at == place::payload || at == place::tensor || at == place::number;
        return ignored_depth_ != 0 || (has_fields && field_ == field::unknown);
    }
    /// Each place leads only to others, so that there are never more than six.
    [[nodiscard]] bool enter(place at) noexcept {
        open_[depth_++] = at;
        return true;
    }
    [[nodiscard]] bool enter_payload() {
        std::string name = std::move(payload_.name);
        payload_ = pt_payload();
        payload_.name = std::move(name);
        seen_ &= bit_of(field::config);
        return enter(place::payload);
    }
    [[nodiscard]] bool enter_number() noexcept {
        seen_ &= ~bit_of(field::number);
        return enter(place::number);
    }
    [[nodiscard]] bool end_number() {
        if (!has(field::number)) {
            return refuse(errc::schema_missing, "it has a size that is no number", {});
        }
        if (here() == place::list) {
            list_->push_back(number_);
        } else {
            payload_.offset = number_;
        }
        return true;
    }
    [[nodiscard]] bool end_payload() {
        const bool is_whole =
            has(field::path) && (payload_.is_pickled || !payload_.is_tensor ||
                                 (has(field::dtype) && has(field::sizes) && has(field::strides) && has(field::offset)));
        if (!is_whole) {
            return refuse(errc::schema_missing, "it lacks one of path_name, dtype, sizes, strides and storage_offset",
                          {});
        }
        if (payload_.sizes.size() != payload_.strides.size()) {
            return refuse(errc::header_malformed, "it has {} sizes, but {} strides",
                          {payload_.sizes.size(), payload_.strides.size()});
        }
        const result<void> taken = to_.take(payload_);
        if (!taken) {
            why_ = error(taken.error()).in_object(payload_.name);
        }
        return static_cast<bool>(taken);
    }

    ZTENSOR_COLD bool refuse(errc code, const char* pattern, std::initializer_list<piece> pieces) {
        why_ = fail(code, pattern, pieces).in_object(payload_.name);
        return false;
    }
    ZTENSOR_COLD bool refuse_kind(const char* found) {
        return refuse(errc::schema_type, "its description holds {} where torch.export has another kind of value",
                      {found});
    }

    pt_payload_taker& to_;
    pt_payload payload_;
    std::array<place, 8> open_{};
    std::size_t depth_ = 0;
    std::size_t ignored_depth_ = 0;
    field field_ = field::unknown;
    unsigned seen_ = 0; ///< fields of the payload that is open, and the config
    std::uint64_t number_ = 0;
    std::vector<std::uint64_t>* list_ = nullptr;
    error why_{errc::json_malformed, {}};
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
