// SPDX-License-Identifier: MIT
//
// A file that is written behind its old end, in place. An undo record leads back until all is written.
#ifndef ZTENSOR_DETAIL_WRITE_EXTENDED_FILE_HPP
#define ZTENSOR_DETAIL_WRITE_EXTENDED_FILE_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/write/atomic_file.hpp>
#include <ztensor/detail/write/undo_log.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The mark of undo_log.hpp stands in place of the first new bytes, which are held back until the end.
class extended_file final : public atomic_file {
public:
    /// `old` is the file at `place`, which is locked.
    extended_file(located_file place, output_file old, const undo_facts& facts, sync_level sync) noexcept
        : atomic_file(std::move(place), sync), old_(std::move(old)), facts_(facts) {}
    ~extended_file() override { static_cast<void>(abandon()); }

    /// Errors: busy (there is an undo record), io_error.
    [[nodiscard]] ZTENSOR_COLD result<void> open() override {
        ZTENSOR_TRY_ASSIGN(std::unique_ptr<undo_log> made, undo_log::create(place_, facts_, sync_));
        log_ = std::move(made);
        file_.emplace(std::move(old_));
        written_ = log_->name(); // for abandon(), which must not take memory
        result<void> marked = log_->mark(*file_);
        return marked ? file_->seek(first_new_byte()) : marked;
    }

    /// Holds back those of the first new bytes in whose place the mark stands.
    [[nodiscard]] ZTENSOR_COLD result<void> append(bytes_view bytes) override {
        const std::size_t count = (std::min)(bytes.size(), held_.size() - held_count_);
        std::copy_n(bytes.begin(), count, held_.data() + held_count_);
        held_count_ += count;
        return file_->append(bytes.subspan(count));
    }
    [[nodiscard]] std::uint64_t place_of(std::uint64_t position) const noexcept override {
        return (std::max)(position, first_new_byte());
    }
    [[nodiscard]] bytes_view held_from(std::uint64_t offset) const noexcept override {
        const bytes_view held(held_.data(), held_count_);
        const bool is_any = offset >= facts_.old_bytes && offset - facts_.old_bytes < held.size();
        return is_any ? held.subspan(static_cast<std::size_t>(offset - facts_.old_bytes)) : bytes_view();
    }

    [[nodiscard]] bool needs_commit() const noexcept override { return true; }
    /// All but the last bytes reach the disk, and then the record says what the new state is.
    [[nodiscard]] ZTENSOR_COLD result<void> commit(std::uint64_t new_bytes, bytes_view last) override {
        result<void> done = check_still_named(*file_, place_.in, place_.name);
        done = done ? sync_content() : std::move(done);
        if (!done) {
            return done;
        }
        change_mark unmarked = held_; // and where fewer are held, the first of the last bytes
        std::copy_n(last.begin(), (std::min)(last.size(), unmarked.size() - held_count_),
                    unmarked.data() + held_count_);
        return log_->commit(new_bytes, last, unmarked);
    }

    /// The new end is on the disk. Once the record is gone, nothing leads back.
    [[nodiscard]] ZTENSOR_COLD result<void> publish() override {
        result<void> done = sync_content();
        done = done ? log_->unmark(*file_) : std::move(done);
        done = done ? file_->close() : std::move(done);
        if (done && !log_->remove(place_.in)) {
            return fail(errc::io_error, "all is written, but the undo record can't be removed");
        }
        return done;
    }

private:
    [[nodiscard]] std::uint64_t first_new_byte() const noexcept { return facts_.old_bytes + change_mark_bytes; }

    /// Once the file is closed, the record must stay: the file may hold anything.
    [[nodiscard]] ZTENSOR_COLD bool undo() noexcept override {
        const auto cut = [&] {
            result<void> done = log_->rescind(*file_);
            done = done ? file_->truncate(facts_.old_bytes) : std::move(done);
            return done ? sync_content() : done;
        };
        const bool is_undone = file_->is_open() && guard_memory(cut).has_value(); // to say what failed takes memory
        file_.reset();
        return is_undone && log_->remove(place_.in);
    }

    output_file old_; ///< until there is a record
    const undo_facts facts_;
    std::unique_ptr<undo_log> log_;
    change_mark held_ = {};
    std::size_t held_count_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
