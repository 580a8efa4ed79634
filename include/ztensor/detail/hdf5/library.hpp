// SPDX-License-Identifier: MIT
//
// Calls of libhdf5, and its reading through a source.
#ifndef ZTENSOR_DETAIL_HDF5_LIBRARY_HPP
#define ZTENSOR_DETAIL_HDF5_LIBRARY_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/error.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <hdf5.h>
#include <memory>
#include <new>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- library
//
// libhdf5 from 1.10 to 2.x: its header, one lock around every call, its identifiers, and its stack of errors as one of
// ours. The only file that includes <hdf5.h>, and where what differs between its versions stands.

/// What every call of libhdf5 by this library holds: most builds of it are not thread-safe.
[[nodiscard]] inline os_mutex& hdf5_mutex() noexcept {
    static never_destroyed<os_mutex> only;
    return only.get();
}

/// The process whose threads hold the mutex or are on their way into or out of it (its upper half), and how many they
/// are (its lower half). In a child that was forked off while there were any, the mutex may stay locked and libhdf5 in
/// the middle of a call, for ever.
[[nodiscard]] inline std::atomic<uint64_t>& hdf5_callers() noexcept {
    static std::atomic<uint64_t> callers{0};
    return callers;
}
[[nodiscard]] inline bool is_hdf5_usable(uint64_t callers = hdf5_callers()) noexcept {
    return (callers & 0xffffffffu) == 0 || callers >> 32 == (process_id() & 0xffffffffu);
}

/// Holds the mutex as long as it lives, where libhdf5 is usable.
class hdf5_hold {
public:
    hdf5_hold() noexcept : is_usable_(enter()) {
        if (is_usable_) {
            lock_.emplace(hdf5_mutex());
        }
    }
    hdf5_hold(const hdf5_hold&) = delete;
    hdf5_hold& operator=(const hdf5_hold&) = delete;
    ~hdf5_hold() {
        if (is_usable_) {
            lock_.reset();
            --hdf5_callers();
        }
    }
    [[nodiscard]] bool is_usable() const noexcept { return is_usable_; }

private:
    /// Counts this thread in before it waits for the mutex: a child that is forked off later must know of it.
    [[nodiscard]] static bool enter() noexcept {
        uint64_t callers = hdf5_callers();
        while (is_hdf5_usable(callers)) {
            const uint64_t with_this = (process_id() << 32) + (callers & 0xffffffffu) + 1;
            if (hdf5_callers().compare_exchange_weak(callers, with_this)) {
                return true;
            }
        }
        return false;
    }

    const bool is_usable_;
    optional<os_lock> lock_;
};

/// Turns the printing of errors off, and the caller's own handler on again, of whichever version of the interface.
class hdf5_silence {
public:
    hdf5_silence() noexcept {
        unsigned is_version_2 = 1;
#if !defined(H5_NO_DEPRECATED_SYMBOLS)
        ::H5Eauto_is_v2(H5E_DEFAULT, &is_version_2);
        if (is_version_2 == 0) {
            is_set_ = ::H5Eget_auto1(&handler_1_, &data_) >= 0 && ::H5Eset_auto1(nullptr, nullptr) >= 0;
            is_version_1_ = true;
            return;
        }
#endif
        is_set_ =
            ::H5Eget_auto2(H5E_DEFAULT, &handler_, &data_) >= 0 && ::H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
    }
    hdf5_silence(const hdf5_silence&) = delete;
    hdf5_silence& operator=(const hdf5_silence&) = delete;
    ~hdf5_silence() {
        if (!is_set_) {
            return;
        }
#if !defined(H5_NO_DEPRECATED_SYMBOLS)
        if (is_version_1_) {
            ::H5Eset_auto1(handler_1_, data_);
            return;
        }
#endif
        ::H5Eset_auto2(H5E_DEFAULT, handler_, data_);
    }

private:
#if !defined(H5_NO_DEPRECATED_SYMBOLS)
    H5E_auto1_t handler_1_ = nullptr;
#endif
    H5E_auto2_t handler_ = nullptr;
    void* data_ = nullptr;
    bool is_version_1_ = false;
    bool is_set_ = false;
};

/// Around every use of libhdf5. Not to be nested: it holds hdf5_mutex(). In a child that was forked off while another
/// thread was inside of libhdf5 it holds nothing, and nothing may be called.
class hdf5_session {
public:
    hdf5_session() noexcept {
        if (hold_.is_usable()) {
            silence_.emplace();
        }
    }
    /// Before the first call. Errors: io_error.
    [[nodiscard]] result<void> check() const {
        return hold_.is_usable() ? result<void>()
                                 : fail(errc::io_error, "this process was forked off while another thread was inside "
                                                        "of libhdf5, which can't be called in it");
    }

private:
    hdf5_hold hold_;
    optional<hdf5_silence> silence_;
};

/// An identifier of libhdf5 that is closed with it. Made, moved and destroyed within a session.
class hdf5_id {
public:
    using close_function = herr_t (*)(hid_t);

    hdf5_id() noexcept = default;
    hdf5_id(hid_t id, close_function closing) noexcept : id_(id), close_(closing) {}
    hdf5_id(hdf5_id&& other) noexcept : id_(std::exchange(other.id_, hid_t{-1})), close_(other.close_) {}
    hdf5_id& operator=(hdf5_id&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    ~hdf5_id() { close(); }

    [[nodiscard]] explicit operator bool() const noexcept { return id_ >= 0; }
    [[nodiscard]] hid_t get() const noexcept { return id_; }
    void close() noexcept {
        if (id_ >= 0 && is_hdf5_usable()) {
            close_(std::exchange(id_, hid_t{-1}));
        }
    }

private:
    hid_t id_ = -1;
    close_function close_ = nullptr;
};

/// Text that libhdf5 allocated; "" for null.
class hdf5_text {
public:
    explicit hdf5_text(char* text) noexcept : text_(text) {}
    hdf5_text(const hdf5_text&) = delete;
    hdf5_text& operator=(const hdf5_text&) = delete;
    ~hdf5_text() { ::H5free_memory(text_); }
    [[nodiscard]] string_view view() const noexcept { return text_ != nullptr ? string_view(text_) : string_view(); }

private:
    char* text_;
};

/// What libhdf5 says of its last failure: the outermost and the innermost description of its stack.
struct hdf5_complaint {
    std::array<char, 160> outer{};
    std::array<char, 160> inner{};

    /// H5E_walk2_t: called by C, so that nothing here may throw.
    static herr_t take(unsigned /*place*/, const H5E_error2_t* entry, void* into) noexcept {
        auto& complaint = *static_cast<hdf5_complaint*>(into);
        if (entry->desc == nullptr || *entry->desc == '\0') {
            return 0;
        }
        std::array<char, 160>& text = complaint.outer[0] == '\0' ? complaint.outer : complaint.inner;
        text.fill('\0');
        std::strncpy(text.data(), entry->desc, text.size() - 1);
        return 0;
    }
};

/// The error for a call of libhdf5 that has just failed: `what` could not be done. Every other call, such as one that
/// closes an identifier, forgets what libhdf5 has to say: to be called where it failed.
[[nodiscard]] ZTENSOR_COLD inline error hdf5_failure(const char* what) noexcept {
    hdf5_complaint complaint;
    ::H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, &hdf5_complaint::take, &complaint);
    const char* const separator = complaint.inner[0] != '\0' ? ": " : "";
    return fail(errc::header_malformed, "HDF5: libhdf5 can't {}: {}{}{}",
                {what, complaint.outer.data(), separator, complaint.inner.data()});
}

// -- what differs between versions

/// Where an object lies in its file, as libhdf5 numbers it.
struct hdf5_address {
#if H5_VERSION_GE(1, 12, 0)
    H5O_token_t token{};
#else
    haddr_t token = 0;
#endif

    friend bool operator==(const hdf5_address& a, const hdf5_address& b) noexcept {
        return std::memcmp(&a.token, &b.token, sizeof a.token) == 0;
    }
    struct hash {
        size_t operator()(const hdf5_address& of) const noexcept {
            uint64_t bits = 0;
            std::memcpy(&bits, &of.token, sizeof bits);
            return static_cast<size_t>(bits * 0x9e3779b97f4a7c15u >> 16);
        }
    };
};

[[nodiscard]] inline hdf5_id open_hdf5_object(hid_t file, const hdf5_address& at) noexcept {
#if H5_VERSION_GE(1, 12, 0)
    return {::H5Oopen_by_token(file, at.token), &H5Oclose};
#else
    return {::H5Oopen_by_addr(file, at.token), &H5Oclose};
#endif
}

[[nodiscard]] inline bool find_hdf5_address(hid_t object, hdf5_address& at) noexcept {
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t info;
    const bool is_found = ::H5Oget_info3(object, &info, H5O_INFO_BASIC) >= 0;
    at.token = info.token;
#else
    H5O_info_t info;
#if H5_VERSION_GE(1, 10, 3)
    const bool is_found = ::H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0;
#else
    const bool is_found = ::H5Oget_info(object, &info) >= 0;
#endif
    at.token = info.addr;
#endif
    return is_found;
}

#if H5_VERSION_GE(1, 12, 0)
using hdf5_link_info = H5L_info2_t;
#else
using hdf5_link_info = H5L_info_t;
#endif

/// Of a hard link.
[[nodiscard]] inline hdf5_address address_of_link(const hdf5_link_info& link) noexcept {
    hdf5_address at;
#if H5_VERSION_GE(1, 12, 0)
    at.token = link.u.token;
#else
    at.token = link.u.address;
#endif
    return at;
}

using hdf5_link_visitor = herr_t (*)(hid_t group, const char* name, const hdf5_link_info* link, void* data);

/// In whatever order they are stored: any other makes libhdf5 build a table of them, of which 1.10 frees what it never
/// filled where a read fails meanwhile.
[[nodiscard]] inline herr_t visit_hdf5_links(hid_t group, hdf5_link_visitor visit, void* data) noexcept {
    hsize_t start = 0;
#if H5_VERSION_GE(1, 12, 0)
    return ::H5Literate2(group, H5_INDEX_NAME, H5_ITER_NATIVE, &start, visit, data);
#else
    return ::H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &start, visit, data);
#endif
}

/// Frees what libhdf5 allocated for elements of varying length.
inline void reclaim_hdf5_elements(hid_t type, hid_t space, void* elements) noexcept {
#if H5_VERSION_GE(1, 12, 0)
    ::H5Treclaim(type, space, H5P_DEFAULT, elements);
#else
    ::H5Dvlen_reclaim(type, space, H5P_DEFAULT, elements);
#endif
}

struct hdf5_external_file {
    std::array<char, 4097> name{};
    uint64_t offset = 0;
    uint64_t length = 0; ///< ~0 for no end
};

/// `call` is H5Pget_external, whose offset is of another type in each version.
template <class Offset>
[[nodiscard]] bool find_hdf5_external(herr_t (*call)(hid_t, unsigned, size_t, char*, Offset*, hsize_t*),
                                      hid_t properties, unsigned number, hdf5_external_file& found) noexcept {
    Offset offset = 0;
    hsize_t length = 0;
    const bool is_there = call(properties, number, found.name.size() - 1, found.name.data(), &offset, &length) >= 0;
    found.offset = static_cast<uint64_t>(offset);
    found.length = length;
    return is_there && offset >= 0;
}

// -- driver
//
// A file driver of libhdf5 that reads through a byte_source: a file by our own positional reads, an entry of an
// archive, memory, or a source of the user's. libhdf5 opens nothing by itself, and locks nothing.

/// What a driver's file reads, and the first error of the source, which says more than libhdf5 can.
struct hdf5_content {
    std::shared_ptr<const byte_source> source;
    optional<error> failure;
};

/// The functions that libhdf5 calls. None throws.
struct hdf5_driver {
    /// Starts with what libhdf5 knows.
    struct file {
        H5FD_t base;
        hdf5_content* content;
        haddr_t end_of_addresses;
    };

    [[nodiscard]] static file& of(H5FD_t* base) noexcept { return *static_cast<file*>(static_cast<void*>(base)); }
    [[nodiscard]] static const file& of(const H5FD_t* base) noexcept {
        return *static_cast<const file*>(static_cast<const void*>(base));
    }

    static H5FD_t* open(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*most*/) noexcept {
        const void* const given = ::H5Pget_driver_info(access);
        file* const opened = given != nullptr ? new (std::nothrow) file() : nullptr;
        if (opened == nullptr) {
            return nullptr;
        }
        opened->content = *static_cast<hdf5_content* const*>(given);
        return &opened->base;
    }
    static herr_t close(H5FD_t* base) noexcept {
        delete &of(base);
        return 0;
    }
    static herr_t query(const H5FD_t* /*base*/, unsigned long* flags) noexcept {
        *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
                 H5FD_FEAT_AGGREGATE_SMALLDATA;
        return 0;
    }
    static haddr_t get_eoa(const H5FD_t* base, H5FD_mem_t /*kind*/) noexcept { return of(base).end_of_addresses; }
    static herr_t set_eoa(H5FD_t* base, H5FD_mem_t /*kind*/, haddr_t address) noexcept {
        of(base).end_of_addresses = address;
        return 0;
    }
    static haddr_t get_eof(const H5FD_t* base, H5FD_mem_t /*kind*/) noexcept {
        return of(base).content->source->size();
    }
    /// Behind the end of the file there are zeros, as libhdf5's own drivers have it.
    static herr_t read(H5FD_t* base, H5FD_mem_t /*kind*/, hid_t /*transfer*/, haddr_t address, size_t size,
                       void* buffer) noexcept {
        hdf5_content& content = *of(base).content;
        const uint64_t bytes_there = content.source->size() - (std::min<uint64_t>)(address, content.source->size());
        const auto count = static_cast<size_t>((std::min<uint64_t>)(size, bytes_there));
        const span<byte> destination(static_cast<byte*>(buffer), size);
        std::fill(destination.begin() + static_cast<std::ptrdiff_t>(count), destination.end(), byte{0});
        if (count == 0) {
            return 0;
        }
        result<void> read = read_guarded(*content.source, address, destination.first(count));
        if (read) {
            return 0;
        }
        if (!content.failure) {
            content.failure = std::move(read).error();
        }
        return -1;
    }
    static herr_t write(H5FD_t* /*base*/, H5FD_mem_t /*kind*/, hid_t /*transfer*/, haddr_t /*address*/, size_t /*size*/,
                        const void* /*buffer*/) noexcept {
        return -1;
    }

    /// Opens the content, which must outlive what this gives.
    static result<hdf5_id> open_file(hdf5_content& content) noexcept {
        H5FD_class_t functions = {};
#if H5_VERSION_GE(1, 14, 0)
        functions.version = H5FD_CLASS_VERSION;
        functions.value = static_cast<H5FD_class_value_t>(511); // of no registered driver
#endif
        functions.name = "ztensor";
        functions.maxaddr = HADDR_MAX;
        functions.fc_degree = H5F_CLOSE_STRONG;
        functions.fapl_size = sizeof(hdf5_content*);
        functions.open = &open;
        functions.close = &close;
        functions.query = &query;
        functions.get_eoa = &get_eoa;
        functions.set_eoa = &set_eoa;
        functions.get_eof = &get_eof;
        functions.read = &read;
        functions.write = &write;
        const hdf5_id driver(::H5FDregister(&functions), &H5FDunregister);
        const hdf5_id access(::H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
        hdf5_content* const address = &content;
        if (!driver || !access || ::H5Pset_driver(access.get(), driver.get(), &address) < 0 ||
            ::H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) < 0) {
            return hdf5_failure("prepare to open the file");
        }
        hdf5_id opened(::H5Fopen("ztensor", H5F_ACC_RDONLY, access.get()), &H5Fclose);
        return opened ? result<hdf5_id>(std::move(opened)) : hdf5_failure("open the file");
    }

private:
    static result<void> read_guarded(const byte_source& source, uint64_t offset, span<byte> destination) noexcept {
#if ZTENSOR_HAS_EXCEPTIONS
        try {
            return source.read_at(offset, destination);
        } catch (...) { // C lies between here and who could catch it
            return error(errc::io_error, "the source threw an exception");
        }
#else
        return source.read_at(offset, destination);
#endif
    }
};

/// An open HDF5 file. Its members are called within a session; it opens one itself to be destroyed.
class hdf5_file {
public:
    static result<std::shared_ptr<hdf5_file>> open(std::shared_ptr<const byte_source> source) {
        auto file = std::make_shared<hdf5_file>();
        const hdf5_session session;
        ZTENSOR_TRY(session.check());
        file->content_.source = std::move(source);
        result<hdf5_id> opened = hdf5_driver::open_file(file->content_);
        if (!opened) {
            return file->content_.failure ? *std::move(file->content_.failure) : std::move(opened).error();
        }
        file->id_ = *std::move(opened);
        return file;
    }

    hdf5_file() noexcept = default;
    hdf5_file(const hdf5_file&) = delete;
    hdf5_file& operator=(const hdf5_file&) = delete;
    ~hdf5_file() {
        const hdf5_session session;
        id_.close();
    }

    [[nodiscard]] hid_t id() const noexcept { return id_.get(); }
    /// Bytes of the source that is read.
    [[nodiscard]] uint64_t size() const noexcept { return content_.source->size(); }

    /// The error for a call that has just failed: what the source said, or else libhdf5.
    [[nodiscard]] ZTENSOR_COLD error failure(const char* what) {
        if (!content_.failure) {
            return hdf5_failure(what);
        }
        error why = *std::move(content_.failure);
        content_.failure.reset();
        return why;
    }

    /// What the source said at any time, even where libhdf5 went on, or where something was taken for absent.
    result<void> check_source() const { return content_.failure ? result<void>(*content_.failure) : result<void>(); }

private:
    hdf5_content content_;
    hdf5_id id_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
