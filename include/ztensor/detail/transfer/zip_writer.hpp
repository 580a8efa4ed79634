// SPDX-License-Identifier: MIT
//
// A ZIP archive of stored entries, ZIP64 where it must be. Knows nothing of what the entries hold.
#ifndef ZTENSOR_DETAIL_TRANSFER_ZIP_WRITER_HPP
#define ZTENSOR_DETAIL_TRANSFER_ZIP_WRITER_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A record of numbers of fixed width, least significant byte first.
class zip_output {
public:
    zip_output& number(std::uint64_t value, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) {
            bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
        }
        return *this;
    }
    zip_output& text(std::string_view value) { return bytes_ += value, *this; }
    zip_output& zeros(std::size_t count) { return bytes_.append(count, '\0'), *this; }

    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
};

/// Writes entry after entry, then the directory. Errors are those of the sink.
class zip_writer {
public:
    static constexpr std::uint64_t data_alignment = 64;

    explicit zip_writer(byte_sink& sink) noexcept : sink_(sink) {}

    /// What stands before the data of an entry, which is to come by write(), exactly `size_bytes` of it. `name` has at
    /// most 65,535 bytes.
    [[nodiscard]] result<void> begin_entry(std::string name, std::uint64_t size_bytes, std::uint32_t crc) {
        entries_.push_back({std::move(name), size_bytes, position_, crc});
        const zip_entry& entry = entries_.back();
        zip_output extra;
        if (size_bytes >= most_32) {
            extra.number(zip64_extra, 2).number(16, 2).number(size_bytes, 8).number(size_bytes, 8);
        }
        align(extra, position_ + local_header_bytes + entry.name.size() + extra.size());
        zip_output header;
        header.number(0x04034b50, 4);
        describe(header, entry);
        header.number((std::min)(size_bytes, most_32), 4).number((std::min)(size_bytes, most_32), 4);
        header.number(entry.name.size(), 2).number(extra.size(), 2).text(entry.name).text(extra.bytes());
        return write(as_bytes(header.bytes()));
    }

    [[nodiscard]] result<void> write(bytes_view bytes) {
        position_ += bytes.size();
        return sink_.write(bytes);
    }

    [[nodiscard]] result<void> finish() {
        const std::uint64_t directory_begin = position_;
        for (const zip_entry& each : entries_) {
            ZTENSOR_TRY(write_directory_entry(each));
        }
        return write_end(directory_begin, position_ - directory_begin);
    }

private:
    static constexpr std::uint64_t most_16 = 0xffff; ///< this, and the next, say that ZIP64 has the number
    static constexpr std::uint64_t most_32 = 0xffffffff;
    static constexpr std::uint64_t local_header_bytes = 30;
    static constexpr std::uint64_t zip64_extra = 0x0001;
    static constexpr std::uint64_t alignment_extra = 0xd935; ///< Android's zipalign pads with it
    static constexpr std::uint64_t version_of_stored = 20;
    static constexpr std::uint64_t version_of_zip64 = 45;

    struct zip_entry {
        std::string name;
        std::uint64_t size_bytes;
        std::uint64_t position; ///< of its local header
        std::uint32_t crc;

        [[nodiscard]] bool needs_zip64() const noexcept { return size_bytes >= most_32 || position >= most_32; }
    };

    /// Brings what follows the extra fields, which would start at `position`, to a multiple of data_alignment.
    static void align(zip_output& extra, std::uint64_t position) {
        constexpr std::uint64_t field_bytes = 6; // of the field that pads: its kind, its size, the alignment
        if (position % data_alignment == 0) {
            return;
        }
        const std::uint64_t padding = (2 * data_alignment - (position + field_bytes) % data_alignment) % data_alignment;
        extra.number(alignment_extra, 2).number(2 + padding, 2).number(data_alignment, 2);
        extra.zeros(static_cast<std::size_t>(padding));
    }

    /// What local header and directory have in common: versions, flags, method, time, checksum.
    static void describe(zip_output& out, const zip_entry& entry) {
        constexpr std::uint64_t utf8_flag = 0x0800;
        constexpr std::uint64_t first_day = 0x0021; // 1 January 1980: the same tensors make the same file
        out.number(entry.needs_zip64() ? version_of_zip64 : version_of_stored, 2);
        out.number(is_ascii(entry.name) ? 0 : utf8_flag, 2).number(0, 2);
        out.number(0, 2).number(first_day, 2).number(entry.crc, 4);
    }

    [[nodiscard]] result<void> write_directory_entry(const zip_entry& entry) {
        constexpr std::uint64_t unix_made = 3 << 8;
        constexpr std::uint64_t regular_file = std::uint64_t{0100644} << 16;
        zip_output large;
        if (entry.size_bytes >= most_32) {
            large.number(entry.size_bytes, 8).number(entry.size_bytes, 8);
        }
        if (entry.position >= most_32) {
            large.number(entry.position, 8);
        }
        zip_output out;
        out.number(0x02014b50, 4).number(unix_made | (entry.needs_zip64() ? version_of_zip64 : version_of_stored), 2);
        describe(out, entry);
        out.number((std::min)(entry.size_bytes, most_32), 4).number((std::min)(entry.size_bytes, most_32), 4);
        out.number(entry.name.size(), 2).number(large.size() != 0 ? large.size() + 4 : 0, 2).number(0, 2);
        out.number(0, 2).number(0, 2).number(regular_file, 4).number((std::min)(entry.position, most_32), 4);
        out.text(entry.name);
        if (large.size() != 0) {
            out.number(zip64_extra, 2).number(large.size(), 2).text(large.bytes());
        }
        return write(as_bytes(out.bytes()));
    }

    [[nodiscard]] result<void> write_end(std::uint64_t begin, std::uint64_t size_bytes) {
        const std::uint64_t count = entries_.size();
        zip_output out;
        if (count >= most_16 || begin >= most_32 || size_bytes >= most_32) {
            out.number(0x06064b50, 4).number(44, 8).number(version_of_zip64, 2).number(version_of_zip64, 2);
            out.number(0, 4).number(0, 4).number(count, 8).number(count, 8).number(size_bytes, 8).number(begin, 8);
            out.number(0x07064b50, 4).number(0, 4).number(begin + size_bytes, 8).number(1, 4);
        }
        out.number(0x06054b50, 4).number(0, 2).number(0, 2);
        out.number((std::min)(count, most_16), 2).number((std::min)(count, most_16), 2);
        out.number((std::min)(size_bytes, most_32), 4).number((std::min)(begin, most_32), 4).number(0, 2);
        return write(as_bytes(out.bytes()));
    }

    byte_sink& sink_;
    std::uint64_t position_ = 0;
    std::vector<zip_entry> entries_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
