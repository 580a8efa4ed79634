// SPDX-License-Identifier: MIT
//
// Every object of an HDF5 file under every name that it has, each object looked at once: without recursion, and without
// following links out of the file.
#ifndef ZTENSOR_DETAIL_HDF5_WALK_HPP
#define ZTENSOR_DETAIL_HDF5_WALK_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/hdf5/driver.hpp>
#include <ztensor/detail/hdf5/library.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
