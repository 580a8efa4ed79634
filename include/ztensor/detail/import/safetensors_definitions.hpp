// SPDX-License-Identifier: MIT
//
// safetensors: the length of a JSON header in 8 bytes, the header, and then nothing but the elements of its tensors.
// Refuses what the format's own library refuses, and besides keys that stand twice, of which that takes one. Defines
// what importer.hpp declares.
#ifndef ZTENSOR_DETAIL_IMPORT_SAFETENSORS_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_SAFETENSORS_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/json.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct safetensors_type {
    string_view name;
    string_view dtype;
    string_view type; ///< logical; "" for none
    uint64_t bits;    ///< of an element
};

/// Types without a row in `logical_types` can be opened, listed and read as bytes.
inline constexpr safetensors_type safetensors_types[] = {
    {"F32", "f32", "", 32},
    {"BF16", "bf16", "", 16},
    {"F16", "f16", "", 16},
    {"F64", "f64", "", 64},
    {"I64", "i64", "", 64},
    {"I32", "i32", "", 32},
    {"I16", "i16", "", 16},
    {"I8", "i8", "", 8},
    {"U64", "u64", "", 64},
    {"U32", "u32", "", 32},
    {"U16", "u16", "", 16},
    {"U8", "u8", "", 8},
    {"BOOL", "bool", "", 8},
    {"F8_E4M3", "u8", "f8_e4m3fn", 8},
    {"F8_E5M2", "u8", "f8_e5m2", 8},
    {"F8_E4M3FNUZ", "u8", "f8_e4m3fnuz", 8},
    {"F8_E5M2FNUZ", "u8", "f8_e5m2fnuz", 8},
    {"F8_E8M0", "u8", "f8_e8m0", 8},
    {"F4", "u8", "f4", 4},
    {"F6_E2M3", "u8", "f6_e2m3", 6},
    {"F6_E3M2", "u8", "f6_e3m2", 6},
    {"C64", "f32", "complex64", 64},
};

/// Where a tensor's elements lie behind the header.
struct safetensors_range {
    uint64_t begin;
    uint64_t end;
    size_t object; ///< its number in the index
};

/// The header -> the index.
class safetensors_header final : public json_listener {
public:
    /// The elements are `data_bytes` from `data_begin` on.
    safetensors_header(uint64_t data_begin, uint64_t data_bytes) noexcept
        : data_begin_(data_begin), data_bytes_(data_bytes) {}

    [[nodiscard]] foreign_index& index() noexcept { return index_; }

    /// After the header: every byte belongs to one tensor. Errors: blob_overlap, unclaimed_bytes.
    result<void> check_ranges(bool may_have_holes) {
        const auto is_before = [](const safetensors_range& a, const safetensors_range& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
        };
        if (!std::is_sorted(ranges_.begin(), ranges_.end(), is_before)) {
            std::sort(ranges_.begin(), ranges_.end(), is_before);
        }
        uint64_t reached = 0;
        for (const safetensors_range& each : ranges_) {
            if (each.begin < reached && each.begin != each.end) {
                return fail(errc::blob_overlap, "bytes {} to {} of the data belong to another tensor, too",
                            {each.begin, (std::min)(reached, each.end)})
                    .in_object(index_.name_of(each.object));
            }
            if (each.begin > reached && !may_have_holes) {
                return unclaimed(reached, each.begin);
            }
            reached = (std::max)(reached, each.end);
        }
        return reached == data_bytes_ || may_have_holes ? result<void>() : unclaimed(reached, data_bytes_);
    }

    // -- what the JSON says

    [[nodiscard]] bool begin_object() override {
        switch (at_) {
        case place::start:
            at_ = place::root;
            return true;
        case place::root:
            if (is_metadata_) {
                index_.has_attributes();
                at_ = place::metadata;
            } else {
                at_ = place::tensor;
                start_tensor();
            }
            return true;
        case place::tensor:
            return field_ == field::unknown ? ++ignored_depth_ != 0 : refuse_kind("an object");
        default:
            return refuse_kind("an object");
        }
    }
    [[nodiscard]] bool end_object() override {
        if (ignored_depth_ != 0) {
            --ignored_depth_;
            return true;
        }
        const bool is_right = at_ != place::tensor || add_tensor();
        at_ = at_ == place::root ? place::end : place::root;
        return is_right;
    }
    [[nodiscard]] bool key(string_view name) override {
        if (ignored_depth_ != 0) {
            return true;
        }
        if (at_ == place::root) {
            is_metadata_ = name == "__metadata__";
            name_ = name;
            return !is_metadata_ || !std::exchange(has_met_metadata_, true) ||
                   refuse(fail(errc::duplicate_key, "the header has {} twice", {in_quotes(name)}));
        }
        if (at_ == place::metadata) {
            values_ = &index_.attribute(name);
            return true;
        }
        return start_field(name);
    }
    [[nodiscard]] bool begin_array() override {
        if (is_ignored()) {
            return ++ignored_depth_ != 0;
        }
        if (at_ != place::tensor || is_in_array_ || (field_ != field::shape && field_ != field::offsets)) {
            return refuse_kind("an array");
        }
        return is_in_array_ = true;
    }
    [[nodiscard]] bool end_array() override {
        if (ignored_depth_ != 0) {
            --ignored_depth_;
            return true;
        }
        is_in_array_ = false;
        return field_ != field::offsets || offset_count_ == 2 ||
               refuse_tensor(errc::header_malformed, "there are {} data offsets, not two", {offset_count_});
    }
    [[nodiscard]] bool unsigned_integer(uint64_t value) override {
        if (is_ignored()) {
            return true;
        }
        if (!is_in_array_) {
            return refuse_kind("a number");
        }
        if (field_ == field::shape) {
            if (dimensions_.size() == max_rank) {
                return refuse_tensor(errc::limit_exceeded, "the tensor has more than {} dimensions", {max_rank});
            }
            dimensions_.push_back(value);
        } else if (offset_count_++ < 2) {
            (offset_count_ == 1 ? begin_ : end_) = value;
        }
        return true;
    }
    [[nodiscard]] bool text(string_view value) override {
        if (is_ignored()) {
            return true;
        }
        if (at_ == place::metadata) {
            values_->text(value);
            return true;
        }
        if (at_ != place::tensor || field_ != field::dtype) {
            return refuse_kind("text");
        }
        type_ = find_row(safetensors_types, &safetensors_type::name, value);
        return type_ != nullptr ||
               refuse_tensor(errc::unknown_dtype, "{} is no dtype of safetensors", {in_quotes(value)});
    }
    [[nodiscard]] bool null() override {
        return (at_ == place::root && is_metadata_) || other("null"); // which the format's library takes for none
    }
    [[nodiscard]] bool other(const char* what) override { return is_ignored() || refuse_kind(what); }

private:
    enum class place : uint8_t { start, root, metadata, tensor, end };
    enum class field : uint8_t { dtype, shape, offsets, unknown };

    /// Within a field of a tensor that this library, like the format's own, does not know.
    [[nodiscard]] bool is_ignored() const noexcept {
        return ignored_depth_ != 0 || (at_ == place::tensor && field_ == field::unknown);
    }

    void start_tensor() noexcept {
        type_ = nullptr;
        dimensions_.truncate(0);
        seen_ = 0;
        offset_count_ = 0;
    }

    [[nodiscard]] bool start_field(string_view name) {
        field_ = name == "dtype"          ? field::dtype
                 : name == "shape"        ? field::shape
                 : name == "data_offsets" ? field::offsets
                                          : field::unknown;
        const unsigned bit = field_ == field::unknown ? 0 : 1u << static_cast<unsigned>(field_);
        if ((seen_ & bit) != 0) {
            return refuse_tensor(errc::duplicate_key, "the tensor has the field {} twice", {in_quotes(name)});
        }
        seen_ |= bit;
        return true;
    }

    [[nodiscard]] bool add_tensor() {
        constexpr unsigned all_fields = 7;
        if (seen_ != all_fields) {
            return refuse_tensor(errc::schema_missing, "the tensor lacks one of dtype, shape and data_offsets", {});
        }
        if (begin_ > end_ || end_ > data_bytes_) {
            return refuse_tensor(errc::out_of_bounds,
                                 "the tensor's data are bytes {} to {} behind the header, where the file has {}",
                                 {begin_, end_, data_bytes_});
        }
        if (find_logical_type(type_->type) == nullptr && !type_->type.empty() && !has_right_size()) {
            return refuse_tensor(errc::size_mismatch,
                                 "the data takes {} bytes, which is not what {} of this shape takes",
                                 {end_ - begin_, type_->name});
        }
        foreign_component data;
        data.dtype = type_->dtype;
        data.type = type_->type;
        data.offset = data_begin_ + begin_;
        data.length = end_ - begin_;
        ranges_.push_back({begin_, end_, index_.size()});
        index_.add(name_, {dimensions_.data(), dimensions_.size()}, data);
        return true;
    }

    /// Of elements whose size our own words don't tell: they are packed, and fill whole bytes.
    [[nodiscard]] bool has_right_size() const noexcept {
        const optional<uint64_t> elements = count_elements(dimensions_);
        const optional<uint64_t> bits = elements ? checked_multiply(*elements, type_->bits) : std::nullopt;
        return !elements || // and is refused for that
               (bits && *bits % 8 == 0 && *bits / 8 == end_ - begin_);
    }

    [[nodiscard]] error unclaimed(uint64_t begin, uint64_t end) const {
        return fail(errc::unclaimed_bytes,
                    "bytes {} to {} behind the header belong to no tensor, which safetensors does not allow",
                    {begin, end})
            .at(data_begin_ + begin);
    }

    ZTENSOR_COLD bool refuse_tensor(errc code, const char* pattern, std::initializer_list<piece> pieces) {
        return refuse(fail(code, pattern, pieces).in_object(name_));
    }
    ZTENSOR_COLD bool refuse_kind(const char* found) {
        error why = fail(errc::schema_type, "the header holds {} where the format has another kind of value", {found});
        return refuse(at_ == place::tensor ? std::move(why).in_object(name_) : std::move(why));
    }

    uint64_t data_begin_;
    uint64_t data_bytes_;
    foreign_index index_;
    record_array<safetensors_range> ranges_;
    place at_ = place::start;
    field field_ = field::unknown;
    bool is_metadata_ = false;
    bool has_met_metadata_ = false;
    bool is_in_array_ = false;
    size_t ignored_depth_ = 0;
    cbor_encoder* values_ = nullptr; ///< of attributes

    // -- of the tensor that is being read

    string name_;
    const safetensors_type* type_ = nullptr;
    record_array<uint64_t> dimensions_;
    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    size_t offset_count_ = 0;
    unsigned seen_ = 0;
};

ZTENSOR_COLD inline result<imported> finish_safetensors(const foreign_file& file, result<void> valid,
                                                        safetensors_header& found) {
    ZTENSOR_TRY(std::move(valid));
    ZTENSOR_TRY(found.check_ranges(file.options.allow_unclaimed_bytes()));
    return finish_import(container_kind::safetensors, found.index(), file.source, file.options);
}

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_safetensors(const foreign_file& file) {
    constexpr uint64_t length_bytes = 8;
    constexpr uint64_t most_header_bytes = 100'000'000; // as the format's own library has it
    const uint64_t size = file.source->size();
    if (size < length_bytes) {
        return fail(errc::file_too_small, "a file of {} bytes is too small for safetensors", {size});
    }
    std::array<byte, length_bytes> length;
    ZTENSOR_TRY(file.source->read_at(0, length));
    const uint64_t header_bytes = load_little_64(length.data());
    if (header_bytes > size - length_bytes) {
        return fail(errc::manifest_out_of_bounds,
                    "the file claims a header of {} bytes, but has room for {}: it is damaged or cut off",
                    {header_bytes, size - length_bytes});
    }
    if (const uint64_t most = (std::min)(most_header_bytes, file.options.max_manifest_bytes()); header_bytes > most) {
        return fail(errc::manifest_too_large, "the header takes {} bytes, more than the {} allowed",
                    {header_bytes, most});
    }
    ZTENSOR_TRY_ASSIGN(const byte_buffer header, read_header(*file.source, length_bytes, header_bytes));
    const string_view text = as_text(header.bytes());
    if (text.empty() || text[0] != '{') {
        return fail(errc::header_malformed, "the header starts with {}, not with the brace of a JSON object",
                    {in_quotes(text.substr(0, 1))});
    }
    const uint64_t data_begin = length_bytes + header_bytes;
    safetensors_header plain(data_begin, size - data_begin);
    const plain_outcome outcome = plain_json<safetensors_header>(text, plain).run();
    if (outcome != plain_outcome::not_plain) {
        return finish_safetensors(file, outcome == plain_outcome::done ? result<void>() : plain.why(), plain);
    }
    safetensors_header found(data_begin, size - data_begin);
    return finish_safetensors(file, parse_json(text, found), found);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
