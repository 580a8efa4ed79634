// SPDX-License-Identifier: MIT
//
// A file driver of libhdf5 that reads through a byte_source: a file by our own positional reads, an entry of an
// archive, memory, or a source of the user's. libhdf5 opens nothing by itself, and locks nothing.
#ifndef ZTENSOR_DETAIL_HDF5_DRIVER_HPP
#define ZTENSOR_DETAIL_HDF5_DRIVER_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/hdf5/library.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What a driver's file reads, and the first error of the source, which says more than libhdf5 can.
struct hdf5_content {
    std::shared_ptr<const byte_source> source;
    std::optional<error> failure;
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
    static herr_t read(H5FD_t* base, H5FD_mem_t /*kind*/, hid_t /*transfer*/, haddr_t address, std::size_t size,
                       void* buffer) noexcept {
        hdf5_content& content = *of(base).content;
        const std::uint64_t bytes_there =
            content.source->size() - (std::min<std::uint64_t>)(address, content.source->size());
        const auto count = static_cast<std::size_t>((std::min<std::uint64_t>)(size, bytes_there));
        const span<std::byte> destination(static_cast<std::byte*>(buffer), size);
        std::fill(destination.begin() + static_cast<std::ptrdiff_t>(count), destination.end(), std::byte{0});
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
    static herr_t write(H5FD_t* /*base*/, H5FD_mem_t /*kind*/, hid_t /*transfer*/, haddr_t /*address*/,
                        std::size_t /*size*/, const void* /*buffer*/) noexcept {
        return -1;
    }

    /// Opens the content, which must outlive what this gives.
    [[nodiscard]] static result<hdf5_id> open_file(hdf5_content& content) noexcept {
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
    [[nodiscard]] static result<void> read_guarded(const byte_source& source, std::uint64_t offset,
                                                   span<std::byte> destination) noexcept {
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
    [[nodiscard]] static result<std::shared_ptr<hdf5_file>> open(std::shared_ptr<const byte_source> source) {
        auto file = std::make_shared<hdf5_file>();
        const hdf5_session session;
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
    [[nodiscard]] std::uint64_t size() const noexcept { return content_.source->size(); }

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
    [[nodiscard]] result<void> check_source() const {
        return content_.failure ? result<void>(*content_.failure) : result<void>();
    }

private:
    hdf5_content content_;
    hdf5_id id_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
