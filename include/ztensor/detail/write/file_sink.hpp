// SPDX-License-Identifier: MIT
//
// A sink that is a file, which appears all at once. Knows nothing of what the bytes mean.
#ifndef ZTENSOR_DETAIL_WRITE_FILE_SINK_HPP
#define ZTENSOR_DETAIL_WRITE_FILE_SINK_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/gathered_output.hpp>
#include <ztensor/detail/write/sink_closed.hpp>
#include <ztensor/detail/write/target_file.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A file, made as publish_mode says; options.hpp has what is promised.
class file_sink final : public byte_sink {
public:
    /// Touches no file; open() does.
    file_sink(const file_path& target, const write_options& options, os_calls& os)
        : path_(path_text(target.native())), native_(target.native()), options_(options), target_(os),
          output_(target_, options) {}
    ~file_sink() override = default;

    /// Called once, before anything else. Fails with errc::not_regular_file if the target is a directory, FIFO, socket
    /// or device, errc::invalid_argument if it names no file, errc::busy if another writer writes in place,
    /// errc::out_of_memory, or errc::io_error.
    [[nodiscard]] result<void> open() {
        return ended_if_failed(prepare([&] { return target_.open(native_, options_.publish_, options_.sync_); }));
    }
    /// Likewise, for what comes after an old file: to take its place ...
    [[nodiscard]] ZTENSOR_COLD result<void> open_successor(located_file place, output_file lock) {
        return ended_if_failed(
            prepare([&] { return target_.open_successor(std::move(place), std::move(lock), options_.sync_); }));
    }
    /// ... or behind its `old_bytes`; `make_way_back() -> result<std::unique_ptr<way_back>>` is called last.
    template <class MakeWayBack>
    [[nodiscard]] ZTENSOR_COLD result<void> open_extended(located_file place, output_file old, std::uint64_t old_bytes,
                                                          const MakeWayBack& make_way_back) {
        const auto extend = [&]() -> result<void> {
            result<std::unique_ptr<way_back>> back = make_way_back(place);
            if (!back) {
                return std::move(back).error();
            }
            return target_.open_extended(std::move(place), std::move(old), *std::move(back), options_.sync_);
        };
        return ended_if_failed(prepare(extend, old_bytes));
    }

    /// Fails with errc::io_error (the disk is full, over quota, ...), or errc::writer_closed after finish() or a
    /// failure, and in another process than the one that opened it. What a thread that wrote meanwhile has to tell, one
    /// of the next calls tells: within 4 MiB, or finish().
    [[nodiscard]] result<void> write(bytes_view bytes) override {
        return is_open() ? ended_if_failed(output_.append(bytes)) : sink_closed().in_file(path_);
    }

    /// Fails with errc::io_error, and then the target is what it was before (publish_mode::replace). Fails with
    /// errc::not_durable if all is in place but the directory could not be synced: the new file is what everyone
    /// reads, and a power cut may still bring the old one back. Fails with errc::writer_closed the second time.
    [[nodiscard]] ZTENSOR_COLD result<void> finish() override {
        if (!is_open() || !target_.is_ours()) {
            return sink_closed().in_file(path_);
        }
        if (result<void> published = ended_if_failed(publish()); !published) {
            return published;
        }
        result<void> synced = target_.sync_name();
        return synced ? synced : std::move(synced).error().in_file(path_);
    }

private:
    [[nodiscard]] bool is_open() const noexcept { return target_.is_open(); }

    template <class Open>
    [[nodiscard]] ZTENSOR_COLD result<void> prepare(const Open& open, std::uint64_t old_bytes = 0) {
        result<void> opened = output_.prepare();
        opened = opened ? open() : std::move(opened);
        if (opened) {
            output_.begin(old_bytes);
        }
        return opened;
    }

    [[nodiscard]] ZTENSOR_COLD result<std::uint64_t> append_file(const file& from, std::uint64_t offset,
                                                                 std::uint64_t size_bytes) override {
        if (!is_open()) {
            return sink_closed().in_file(path_);
        }
        result<std::uint64_t> copied = output_.append_file(from, offset, size_bytes);
        return copied ? copied : std::move(ended_if_failed(std::move(copied).error())).error();
    }
    [[nodiscard]] bool announce(std::uint64_t size_bytes) override { return output_.announce(size_bytes); }
    [[nodiscard]] ZTENSOR_COLD bool holds(std::uint64_t offset, bytes_view bytes) override {
        return output_.holds(offset, bytes);
    }
    [[nodiscard]] bool would_destroy(const file& source) const override { return target_.would_destroy(source); }

    [[nodiscard]] ZTENSOR_COLD result<void> publish() {
        result<void> done = output_.end();
        return done ? target_.publish() : std::move(done);
    }

    /// After a failure the sink is over; a file that could not be removed is told of.
    [[nodiscard]] ZTENSOR_COLD result<void> ended_if_failed(result<void> outcome) {
        if (outcome) {
            return outcome;
        }
        error why = std::move(outcome).error();
        if (const native_path left = target_.abandon(); !left.empty()) {
            why = fail(why.code(), "{} ({} is left behind)", {why.sentence(), path_text(target_.path_of(left))})
                      .because(why.os_error());
        }
        return std::move(why).in_file(path_);
    }

    const std::string path_; ///< as it was given, for messages
    const native_path native_;
    const write_options options_;
    target_file target_;
    gathered_output output_;
};

/// A new file at `target`, as `options` say: publish_mode and sync. See file_sink for what is promised, and
/// file_sink::open() for the errors.
[[nodiscard]] inline result<std::unique_ptr<byte_sink>>
create_sink(const file_path& target, const write_options& options, os_calls& os = operating_system()) {
    auto* const file = new file_sink(target, options, os);
    std::unique_ptr<byte_sink> sink(file);
    if (result<void> opened = file->open(); !opened) {
        return std::move(opened).error();
    }
    return sink;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
