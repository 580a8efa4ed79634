// SPDX-License-Identifier: MIT
//
// What leads back to a file's old state while it is changed in place, as those see it who write the file.
#ifndef ZTENSOR_DETAIL_WRITE_WAY_BACK_HPP
#define ZTENSOR_DETAIL_WRITE_WAY_BACK_HPP

#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What stands in a file while it is changed. See undo_record.hpp.
inline constexpr std::size_t change_mark_bytes = 8;
using change_mark = std::array<std::byte, change_mark_bytes>;

/// What leads back to the file as it was before it is changed in place.
class way_back {
public:
    virtual ~way_back() = default;
    way_back(const way_back&) = delete;
    way_back& operator=(const way_back&) = delete;

    [[nodiscard]] virtual std::uint64_t old_bytes() const noexcept = 0;
    /// Of a file that is extended: behind the mark.
    [[nodiscard]] std::uint64_t first_new_byte() const noexcept { return old_bytes() + change_mark_bytes; }

    /// Keeps of the first new bytes those in whose place the mark stands, and gives the rest.
    [[nodiscard]] bytes_view hold(bytes_view bytes) noexcept {
        const std::size_t count = (std::min)(bytes.size(), held_.size() - held_count_);
        std::copy_n(bytes.begin(), count, held_.data() + held_count_);
        held_count_ += count;
        return bytes.subspan(count);
    }
    /// What is held of the bytes from `offset` on.
    [[nodiscard]] bytes_view held_from(std::uint64_t offset) const noexcept {
        const bytes_view held(held_.data(), held_count_);
        const bool is_any = offset >= old_bytes() && offset - old_bytes() < held.size();
        return is_any ? held.subspan(static_cast<std::size_t>(offset - old_bytes())) : bytes_view();
    }
    /// Of the file that holds it.
    [[nodiscard]] virtual const native_path& name() const noexcept = 0;
    /// The file is about to change.
    [[nodiscard]] virtual result<void> mark(output_file& target) = 0;
    /// Ends it: all of the new state is on the disk, but for the mark and its `last` bytes. Whoever finds it completes
    /// the new state.
    [[nodiscard]] virtual result<void> commit(std::uint64_t new_bytes, bytes_view last) = 0;
    /// Takes commit() back, so that old bytes may be put back.
    [[nodiscard]] virtual result<void> rescind(output_file& target) = 0;
    /// The file is complete, old or new, but for the mark: takes that away.
    [[nodiscard]] virtual result<void> unmark(output_file& target) = 0;
    /// False if it is still there.
    [[nodiscard]] virtual bool remove(const directory& in) noexcept = 0;

protected:
    way_back() = default;

    /// Those that are held, and where they are fewer the first of `last`.
    [[nodiscard]] change_mark unmarked(bytes_view last) const noexcept {
        change_mark whole = held_;
        std::copy_n(last.begin(), (std::min)(last.size(), whole.size() - held_count_), whole.data() + held_count_);
        return whole;
    }

private:
    change_mark held_ = {};
    std::size_t held_count_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
