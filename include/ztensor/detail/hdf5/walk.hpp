// SPDX-License-Identifier: MIT
//
// HDF5: groups, and attributes.
#ifndef ZTENSOR_DETAIL_HDF5_WALK_HPP
#define ZTENSOR_DETAIL_HDF5_WALK_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/hdf5/datasets.hpp>
#include <ztensor/detail/hdf5/library.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- walk
//
// Every object of an HDF5 file under every name that it has, each object looked at once: without recursion, and without
// following links out of the file.

/// Calls `visitor` within the session that the caller holds:
///     result<void> group(hid_t, const std::string& path)
///     result<std::size_t> dataset(hid_t, const std::string& path), the number of it
///     result<void> again(std::size_t number, const std::string& path): a dataset under another name
///     void skip(const std::string& path, const char* why)
/// Paths start with no slash; that of the root is "".
template <class Visitor>
class hdf5_walk {
public:
    hdf5_walk(hdf5_file& file, std::uint64_t max_objects, Visitor& visitor)
        : file_(file), max_objects_(max_objects), visitor_(visitor) {}

    [[nodiscard]] result<void> run() {
        refuse_external_ = hdf5_id(::H5Pcreate(H5P_LINK_ACCESS), &H5Pclose);
        if (!refuse_external_ || ::H5Pset_elink_cb(refuse_external_.get(), &refuse, nullptr) < 0) {
            return file_.failure("prepare to follow links");
        }
        const hdf5_id root(::H5Oopen(file_.id(), "/", H5P_DEFAULT), &H5Oclose);
        hdf5_address address;
        if (!root || !find_hdf5_address(root.get(), address)) {
            return file_.failure("open the root group");
        }
        result<void> done = visit_object(root.get(), address, {});
        while (done && !pending_.empty()) {
            const named_link next = std::move(pending_.back());
            pending_.pop_back();
            done = visit_hard(next);
        }
        for (std::size_t i = 0; done && i < soft_.size(); ++i) { // by now all groups are known by their own names
            done = visit_soft(soft_[i]);
        }
        return done;
    }

private:
    struct named_link {
        std::string path;
        hdf5_address address;    ///< of a hard link
        std::int64_t number = 0; ///< in the order in which links were made, where the group keeps that
        H5L_type_t type = H5L_TYPE_HARD;
    };
    /// What the visitor of one group's links fills.
    struct listing {
        hdf5_walk* walk;
        const std::string* group;
        std::vector<named_link> links;
        bool is_too_many = false;
        bool has_no_memory = false;
    };
    static constexpr std::size_t is_no_dataset = ~std::size_t{0};

    static herr_t refuse(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) noexcept {
        return -1;
    }

    static herr_t take_link(hid_t /*group*/, const char* name, const hdf5_link_info* link, void* into) noexcept {
        auto& taken = *static_cast<listing*>(into);
        if (++taken.walk->link_count_ > taken.walk->max_objects_) {
            taken.is_too_many = true;
            return -1;
        }
#if ZTENSOR_HAS_EXCEPTIONS
        try {
            taken.links.push_back(taken.walk->named(*taken.group, name, *link));
        } catch (...) { // C lies between here and who could catch it
            taken.has_no_memory = true;
            return -1;
        }
#else
        taken.links.push_back(taken.walk->named(*taken.group, name, *link));
#endif
        return 0;
    }
    [[nodiscard]] static named_link named(const std::string& group, const char* name, const hdf5_link_info& link) {
        named_link made;
        made.path = group.empty() ? std::string(name) : group + '/' + name;
        made.type = link.type;
        made.number = link.corder_valid ? link.corder : 0;
        if (link.type == H5L_TYPE_HARD) {
            made.address = address_of_link(link);
        }
        return made;
    }

    /// The links of a group, in the order in which they were made where the group keeps that, else of their names.
    [[nodiscard]] result<void> list(hid_t group, const std::string& path) {
        listing all{this, &path, {}, false, false};
        const herr_t done = visit_hdf5_links(group, &take_link, &all);
        if (all.is_too_many) {
            return fail(errc::limit_exceeded,
                        "the file has more than the {} links that read_options::max_objects allows", {max_objects_});
        }
        if (all.has_no_memory) {
            return fail(errc::out_of_memory, "memory ran out");
        }
        if (done < 0) {
            return file_.failure("list a group");
        }
        std::sort(all.links.begin(), all.links.end(), [](const named_link& a, const named_link& b) {
            return a.number != b.number ? a.number < b.number : a.path < b.path;
        });
        take(std::move(all.links));
        return {};
    }

    /// The first link is to be visited first.
    void take(std::vector<named_link> links) {
        for (std::size_t i = links.size(); i-- != 0;) {
            if (links[i].type == H5L_TYPE_HARD) {
                pending_.push_back(std::move(links[i]));
            }
        }
        for (named_link& each : links) {
            if (each.path.empty()) {
                continue; // it was taken
            }
            if (each.type == H5L_TYPE_SOFT) {
                soft_.push_back(std::move(each));
            } else if (each.type == H5L_TYPE_EXTERNAL) {
                visitor_.skip(each.path, "it is a link into another file, which is not followed");
            } else if (each.type != H5L_TYPE_HARD) {
                visitor_.skip(each.path, "it is a link of a kind that programs define, which is not followed");
            }
        }
    }

    [[nodiscard]] result<void> visit_hard(const named_link& link) {
        if (const auto known = known_.find(link.address); known != known_.end()) {
            return visit_again(known->second, link.path);
        }
        const hdf5_id object = open_hdf5_object(file_.id(), link.address);
        if (!object) {
            return file_.failure("open an object").in_object(link.path);
        }
        return visit_object(object.get(), link.address, link.path);
    }

    [[nodiscard]] result<void> visit_soft(const named_link& link) {
        const hdf5_id object(::H5Oopen(file_.id(), link.path.c_str(), refuse_external_.get()), &H5Oclose);
        hdf5_address address;
        if (!object || !find_hdf5_address(object.get(), address)) {
            visitor_.skip(link.path, "it is a link that leads to nothing in this file");
            return {};
        }
        const auto known = known_.find(address);
        return known != known_.end() ? visit_again(known->second, link.path)
                                     : visit_object(object.get(), address, link.path);
    }

    [[nodiscard]] result<void> visit_again(std::size_t number, const std::string& path) {
        return number != is_no_dataset ? visitor_.again(number, path) : result<void>();
    }

    [[nodiscard]] result<void> visit_object(hid_t object, const hdf5_address& address, const std::string& path) {
        switch (::H5Iget_type(object)) {
        case H5I_GROUP: {
            known_.emplace(address, is_no_dataset);
            if (path.size() > max_name_bytes) { // which ends a deep nesting, too
                visitor_.skip(path.substr(0, max_name_bytes), "it is a group whose path is longer than 4096 bytes");
                return {};
            }
            result<void> visited = visitor_.group(object, path);
            return visited ? list(object, path) : visited;
        }
        case H5I_DATASET: {
            ZTENSOR_TRY_ASSIGN(std::size_t number, visitor_.dataset(object, path));
            known_.emplace(address, number);
            return {};
        }
        default:
            known_.emplace(address, is_no_dataset);
            visitor_.skip(path, "it is neither a group nor a dataset");
            return {};
        }
    }

    hdf5_file& file_;
    std::uint64_t max_objects_;
    Visitor& visitor_;
    hdf5_id refuse_external_;
    std::vector<named_link> pending_; ///< hard links; the last is next
    std::vector<named_link> soft_;
    std::unordered_map<hdf5_address, std::size_t, hdf5_address::hash> known_;
    std::uint64_t link_count_ = 0;
};

// -- attribute values
//
// Attributes of HDF5 objects as CBOR: numbers, bools, texts, and arrays of them.

/// The names of an object's attributes, in the order of their names.
[[nodiscard]] inline bool list_hdf5_attributes(hid_t object, std::vector<std::string>& names) {
    struct names_or_failure {
        std::vector<std::string>& names;
        bool has_failed;
    } found{names, false};
    const auto take = [](hid_t, const char* name, const H5A_info_t*, void* into) -> herr_t {
        auto& taken = *static_cast<names_or_failure*>(into);
#if ZTENSOR_HAS_EXCEPTIONS
        try {
            taken.names.emplace_back(name);
        } catch (...) {
            taken.has_failed = true;
        }
#else
        taken.names.emplace_back(name);
#endif
        return taken.has_failed ? -1 : 0;
    };
    hsize_t start = 0;
    if (::H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &start, take, &found) < 0) {
        return false;
    }
    std::sort(names.begin(), names.end());
    return true;
}

/// One attribute -> one CBOR item.
class hdf5_attribute_reader {
public:
    /// `max_bytes` is what its value may take.
    hdf5_attribute_reader(hid_t object, const char* name, std::uint64_t max_bytes) noexcept
        : attribute_(::H5Aopen(object, name, H5P_DEFAULT), &H5Aclose), max_bytes_(max_bytes) {}

    /// Appends the value; the reason where that can't be, else nullptr, and then nothing was appended.
    [[nodiscard]] const char* encode(cbor_encoder& out) {
        constexpr const char* unreadable = "it can't be read";
        if (!attribute_) {
            return unreadable;
        }
        const hdf5_id type(::H5Aget_type(attribute_.get()), &H5Tclose);
        const hdf5_id space(::H5Aget_space(attribute_.get()), &H5Sclose);
        if (!type || !space) {
            return unreadable;
        }
        if (::H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
            out.null();
            return nullptr;
        }
        hsize_t dimensions[H5S_MAX_RANK] = {};
        const int rank = ::H5Sget_simple_extent_dims(space.get(), dimensions, nullptr);
        if (rank < 0) {
            return unreadable;
        }
        dimensions_.assign(dimensions, dimensions + rank);
        const std::size_t size = ::H5Tget_size(type.get());
        element_counter counter;
        bool is_countable = counter.multiply(size);
        for (const std::uint64_t each : dimensions_) {
            is_countable = is_countable && counter.multiply(each);
        }
        if (size == 0 || !is_countable || counter.count() > max_bytes_) {
            return "it is larger than read_options::max_manifest_bytes allows";
        }
        bytes_.resize(static_cast<std::size_t>(counter.count()));
        return ::H5Tget_class(type.get()) == H5T_STRING ? encode_texts(out, type.get(), space.get(), size)
                                                        : encode_numbers(out, type.get(), size);
    }

private:
    /// Of all dimensions the product. Fits, as it was checked.
    [[nodiscard]] std::size_t count() const noexcept {
        std::uint64_t product = 1;
        for (const std::uint64_t each : dimensions_) {
            product *= each;
        }
        return static_cast<std::size_t>(product);
    }

    [[nodiscard]] bool read(hid_t type) noexcept {
        return bytes_.empty() || ::H5Aread(attribute_.get(), type, bytes_.data()) >= 0;
    }

    /// Arrays around the elements, which `encode_one(i)` appends.
    template <class EncodeOne>
    [[nodiscard]] const char* encode_elements(cbor_encoder& out, const EncodeOne& encode_one) const {
        constexpr std::size_t most_nested = 8; // the manifest has 32 levels in all
        if (dimensions_.size() > most_nested) {
            return "it has more than 8 dimensions";
        }
        const std::size_t elements = count();
        if (elements == 0) {
            out.begin_array(0);
            return nullptr;
        }
        for (std::size_t i = 0; i < elements; ++i) {
            std::size_t of_array = elements;
            for (const std::uint64_t each : dimensions_) {
                if (i % of_array == 0) {
                    out.begin_array(each);
                }
                of_array /= static_cast<std::size_t>(each);
            }
            encode_one(i);
        }
        return nullptr;
    }

    [[nodiscard]] const char* encode_texts(cbor_encoder& out, hid_t type, hid_t space, std::size_t size) {
        if (!read(type)) {
            return "it can't be read";
        }
        const bool has_any_length = ::H5Tis_variable_str(type) > 0;
        const bool is_padded_by_spaces = ::H5Tget_strpad(type) == H5T_STR_SPACEPAD;
        std::uint64_t taken = 0;
        bool is_too_large = false;
        const char* const refused = encode_elements(out, [&](std::size_t i) {
            std::string_view text(static_cast<const char*>(static_cast<const void*>(bytes_.data() + i * size)), size);
            if (has_any_length) {
                const char* there = nullptr;
                std::memcpy(&there, bytes_.data() + i * size, sizeof there);
                text = there != nullptr ? std::string_view(there) : std::string_view();
            } else {
                text = text.substr(0, text.find('\0'));
                if (is_padded_by_spaces) {
                    text = text.substr(0, text.find_last_not_of(' ') + 1);
                }
            }
            taken += text.size();
            is_too_large = is_too_large || taken > max_bytes_;
            if (!is_too_large) {
                is_utf8(text) ? out.text(text) : out.byte_string(as_bytes(text));
            }
        });
        if (has_any_length && !bytes_.empty()) {
            reclaim_hdf5_elements(type, space, bytes_.data());
        }
        return is_too_large ? "it is larger than read_options::max_manifest_bytes allows" : refused;
    }

    [[nodiscard]] const char* encode_numbers(cbor_encoder& out, hid_t type, std::size_t size) {
        hdf5_elements elements;
        if (const char* const refused = hdf5_classifier(elements, {}).classify(type)) {
            return refused;
        }
        if (elements.is_converted || elements.bytes != size || elements.type != "") {
            return "its elements are of a type that attributes do not have";
        }
        if (!read(type)) {
            return "it can't be read";
        }
        std::size_t width = size;
        for (const std::uint64_t each : elements.inner_dimensions) {
            dimensions_.push_back(each);
            width /= static_cast<std::size_t>(each);
        }
        return encode_elements(out, [&](std::size_t i) {
            const std::byte* const at = bytes_.data() + i * width;
            encode_number(out, elements.dtype, elements.is_big_endian ? load_big(at, width) : load_little(at, width),
                          width);
        });
    }

    static void encode_number(cbor_encoder& out, std::string_view dtype, std::uint64_t bits, std::size_t width) {
        if (dtype == "bool") {
            return out.boolean(bits != 0);
        }
        if (dtype[0] == 'u') {
            return out.unsigned_integer(bits);
        }
        if (dtype[0] == 'i') {
            const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
            const std::uint64_t extended = (bits ^ sign) - sign;
            return extended >> 63 != 0 ? out.negative_integer(~extended) : out.unsigned_integer(extended);
        }
        if (dtype == "f16") {
            return out.number(
                static_cast<double>(static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bits)))));
        }
        if (dtype == "bf16") {
            return out.number(
                static_cast<double>(static_cast<float>(bfloat16::from_bits(static_cast<std::uint16_t>(bits)))));
        }
        if (dtype == "f32") {
            return out.number(static_cast<double>(number_of<float>(static_cast<std::uint32_t>(bits))));
        }
        out.number(number_of<double>(bits));
    }
    template <class Float, class Bits>
    [[nodiscard]] static Float number_of(Bits bits) noexcept {
        static_assert(sizeof(Float) == sizeof(Bits));
        Float number;
        std::memcpy(&number, &bits, sizeof number);
        return number;
    }

    hdf5_id attribute_;
    std::uint64_t max_bytes_;
    std::vector<std::uint64_t> dimensions_;
    std::vector<std::byte> bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
