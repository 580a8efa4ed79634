// SPDX-License-Identifier: MIT
//
// Recovering by undo records that are damaged, forged or of another file, sweeping where the system refuses, and files
// that change while they are opened to be gone on with.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/write/editor.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace undo_records {

using support::bytes;
using support::faulty_os;
using support::little_endian;
using support::outcome;
using support::read_file;
using support::refusal;
using support::temp_dir;
using support::write_file;
using ztensor::errc;
using ztensor::recovery;
namespace detail = ztensor::detail;

constexpr std::size_t head_bytes = 56, head_sum_at = 52;
constexpr std::uint64_t commit = ~std::uint64_t{0};

bytes sum_of(const bytes& content) {
    return little_endian(detail::undo_sum(support::bytes_of(content)), 4);
}

/// Old bytes that stood at `offset`, or the end of the record.
bytes piece_of(std::uint64_t offset, const bytes& content) {
    const bytes piece = little_endian(offset, 8) + little_endian(content.size(), 8) + content;
    return piece + sum_of(piece);
}

/// The end of a record: the new state is so long, ends with `last`, and has this content where old pieces were.
bytes commit_of(std::uint64_t size, const bytes& last, std::uint64_t offset, const bytes& content) {
    return piece_of(commit, little_endian(size, 8) + "ZTEN1000" + little_endian(last.size(), 8) + last +
                                little_endian(offset, 8) + little_endian(content.size(), 8) + sum_of(content));
}

/// Where the first old bytes of a record stood.
std::uint64_t place_of(const bytes& record) {
    return detail::load_little(support::bytes_of(record).data() + head_bytes, 8);
}

/// The head of a record with the number at `at` changed, and its sum right again.
bytes head_with(const bytes& head, std::size_t at, std::uint64_t value) {
    const bytes changed = head.substr(0, at) + little_endian(value, 8) + head.substr(at + 8, head_sum_at - at - 8);
    return changed + sum_of(changed);
}

/// A file of which "b", which has no digest, was being replaced in place when its writer ended.
struct broken_off {
    broken_off() {
        gone_on_with::write_old(directory / "f");
        before = read_file(directory / "f");
        auto change = ztensor::edit(directory / "f",
                                    ztensor::write_options().publish(ztensor::publish_mode::in_place).sync(false))
                          .value();
        change.replace("b", {5}, std::vector<std::uint8_t>{9, 8, 7, 6, 5}).value();
        record_name = gone_on_with::leftovers(directory.names()).at(0);
        record = read_file(directory / record_name);
        after = read_file(directory / "f");
    }

    /// Puts it there, with this record.
    void leave(const bytes& left) const {
        write_file(directory / "f", after);
        write_file(directory / record_name, left);
    }

    /// What was to come of it.
    [[nodiscard]] bytes finished() const {
        return after.substr(0, after.size() - 8) + before.substr(before.size() - 8);
    }

    temp_dir directory;
    std::string record_name;
    bytes record;
    bytes before;
    bytes after; ///< with the mark
};

/// Its content changes between the one read and the other: of the reads that bring `from`, that one brings `to`.
class changing_os final : public faulty_os {
public:
    changing_os(bytes from, bytes to, std::size_t changed_read)
        : from_(std::move(from)), to_(std::move(to)), changed_read_(changed_read) {}

    detail::os_answer<std::size_t> read(detail::os_handle file, std::uint64_t offset,
                                        ztensor::span<std::byte> into) override {
        const auto answer = faulty_os::read(file, offset, into);
        const std::size_t at = support::as_string(into.first(answer.value)).find(from_);
        if (at != bytes::npos && seen_++ == changed_read_) {
            std::memcpy(into.data() + at, to_.data(), to_.size());
            has_changed = true;
        }
        return answer;
    }

    bool has_changed = false;

private:
    bytes from_;
    bytes to_;
    std::size_t changed_read_;
    std::size_t seen_ = 0;
};

/// Does something before it opens the file of that name.
class meddling_os final : public faulty_os {
public:
    explicit meddling_os(std::function<std::error_code(const detail::native_path&, bool)> meddle)
        : meddle_(std::move(meddle)) {}

    detail::os_answer<detail::os_handle> open_in(const detail::os_directory& in, const detail::native_path& name,
                                                 bool writes) override {
        const std::error_code refused = meddle_(name, writes);
        return refused ? detail::os_answer<detail::os_handle>{{}, refused} : faulty_os::open_in(in, name, writes);
    }

private:
    std::function<std::error_code(const detail::native_path&, bool)> meddle_;
};

} // namespace undo_records

} // namespace

TEST_CASE("an undo record that is damaged or forged is refused, or the file is in one of its two states") {
    using namespace undo_records;
    const broken_off at;
    const bytes head = at.record.substr(0, head_bytes);
    const bytes pieces = at.record.substr(head_bytes);
    const std::uint64_t size = at.before.size();
    const std::uint64_t place = place_of(at.record);
    const bytes new_bytes = {9, 8, 7, 6, 5};
    REQUIRE(at.after.substr(static_cast<std::size_t>(place), 5) == new_bytes);
    bytes damaged_head = head;
    damaged_head[head_bytes - 1] = static_cast<char>(damaged_head[head_bytes - 1] ^ 1);
    const struct {
        const char* what;
        bytes record;
        std::string outcome;
    } cases[] = {
        {"as it was made", at.record, "undone"},
        {"a head of another sum", damaged_head + pieces, "refused"},
        {"no piece", head, "refused"},
        {"a piece behind the end", head + piece_of(size + 1, "x"), "refused"},
        {"a piece over the end", head + piece_of(size - 1, "xyz"), "refused"},
        {"pieces behind such a one", head + piece_of(size - 1, "xyz") + pieces, "refused"},
        {"an end of 23 bytes", at.record + piece_of(commit, little_endian(size, 8) + bytes(15, '\0')), "undone"},
        {"an end with a part of a piece", at.record + piece_of(commit, little_endian(size, 8) + bytes(17, '\0')),
         "undone"},
        {"an end with more last bytes than there are",
         at.record + piece_of(commit, little_endian(size, 8) + "ZTEN1000" + little_endian(1, 8)), "undone"},
        {"an end of a shorter file", at.record + commit_of(size - 1, "", place, new_bytes), "undone"},
        {"the end", at.record + commit_of(size, "", place, new_bytes), "kept"},
        {"an end with other new bytes", at.record + commit_of(size, "", place, "other"), "refused"},
        {"an end with new bytes behind the file", at.record + commit_of(size, "", size, new_bytes), "refused"},
        {"an end with new bytes far behind the file", at.record + commit_of(size, "", size + 1, new_bytes), "refused"},
        {"an end with more last bytes than the file grows by", at.record + commit_of(size + 2, "abc", place, new_bytes),
         "undone"},
        {"an old file of fewer bytes than a mark", head_with(head, 8, 7) + pieces, "refused"},
        {"an end of a longer file", at.record + commit_of(size + 64, "", place, new_bytes), "refused"},
        {"a manifest behind the end", head_with(head, 16, size + 1) + pieces, "refused"},
        {"a manifest elsewhere", head_with(head, 16, 64) + pieces, "refused"},
        {"a longer old file", head_with(head, 8, size + 1) + pieces, "refused"},
        {"a mark elsewhere", head_with(head, 24, size - 9) + pieces, "refused"},
        {"a mark behind the end", head_with(head, 24, size) + pieces, "refused"},
        {"another mark", head_with(head, 40, 1) + pieces, "refused"},
        {"an earlier release's", "ZTUNDO01" + at.record.substr(8), "refused"},
        {"the first bytes of an earlier release's", "ZTUNDO01", "refused"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.what);
        at.leave(each.record);
        const auto recovered = ztensor::recover(at.directory / "f");
        if (each.outcome == "refused") {
            CHECK(refusal(recovered) == errc::undo_record_refused);
            CHECK((read_file(at.directory / "f") == at.after));
            CHECK((read_file(at.directory / at.record_name) == each.record));
            continue;
        }
        CHECK(recovered.value() == (each.outcome == "kept" ? recovery::kept_new : recovery::undone));
        CHECK((read_file(at.directory / "f") == (each.outcome == "kept" ? at.finished() : at.before)));
        CHECK(at.directory.names() == std::vector<std::string>{"f"});
    }
}

TEST_CASE("with any one byte of its undo record damaged a file is one of its two states, or left as it is") {
    using namespace undo_records;
    const broken_off at;
    for (const bool is_committed : {false, true}) {
        const std::uint64_t place = place_of(at.record);
        const bytes record =
            is_committed ? at.record + commit_of(at.before.size(), "", place, {9, 8, 7, 6, 5}) : at.record;
        for (std::size_t damaged = 0; damaged < record.size(); ++damaged) {
            for (const bool is_cut : {false, true}) {
                bytes left = record;
                left[damaged] = static_cast<char>(left[damaged] ^ 0x20);
                left.resize(is_cut ? damaged : left.size());
                CAPTURE(is_committed, damaged, is_cut);
                at.leave(left);
                const auto recovered = ztensor::recover(at.directory / "f");
                if (!recovered) {
                    CHECK(refusal(recovered) == errc::undo_record_refused);
                    CHECK((read_file(at.directory / "f") == at.after));
                    CHECK((read_file(at.directory / at.record_name) == left));
                    continue;
                }
                CHECK((read_file(at.directory / "f") == (*recovered == recovery::undone ? at.before : at.finished())));
                CHECK(at.directory.names() == std::vector<std::string>{"f"});
            }
        }
    }
}

TEST_CASE("a whole file that came in the place of a changed one is left as it is, whatever its inode and manifest") {
    using namespace undo_records;
    const broken_off at;
    const std::size_t place = static_cast<std::size_t>(place_of(at.record));
    const auto with = [&](bytes content, std::size_t offset, const bytes& other) {
        return content.replace(offset, other.size(), other);
    };
    const bytes commits = commit_of(at.before.size(), "", place, {9, 8, 7, 6, 5});
    const bytes old_elsewhere = with(at.before, 64, "other"), new_elsewhere = with(at.finished(), 64, "other");
    const struct {
        const char* what;
        bytes content;
        bytes record;
    } cases[] = {
        {"another checkpoint", with(old_elsewhere, place, "other"), at.record},
        {"one that holds what was being written", new_elsewhere, at.record},
        {"the new state itself, made otherwise", at.finished(), at.record},
        {"one that holds a part of it", with(at.before, place, {9, 8}), at.record},
        {"another one, after the end of the change", with(old_elsewhere, place, "other"), at.record + commits},
        {"a longer one", at.before + at.before, at.record},
        {"a shorter one", at.before.substr(0, at.before.size() - 1), at.record},
        {"none", "", at.record},
        {"one that is being changed otherwise", with(at.after, at.after.size() - 8, "abcd"), at.record},
    };
    for (const auto& each : cases) {
        CAPTURE(each.what);
        at.leave(each.record);
        write_file(at.directory / "f", each.content); // into the same inode
        CHECK(refusal(ztensor::recover(at.directory / "f")) == errc::undo_record_refused);
        CHECK((read_file(at.directory / "f") == each.content));
        CHECK((read_file(at.directory / at.record_name) == each.record));
        CHECK(refusal(ztensor::edit(at.directory / "f")) == errc::recovery_needed);
    }
    // In which nothing is to be done, and the record says nothing that the file does not.
    for (const bytes& content : {at.before, old_elsewhere}) {
        at.leave(at.record);
        write_file(at.directory / "f", content);
        CHECK(ztensor::recover(at.directory / "f").value() == recovery::not_needed);
        CHECK((read_file(at.directory / "f") == content));
        CHECK(at.directory.names() == std::vector<std::string>{"f"});
    }
    for (const bytes& content : {at.finished(), new_elsewhere}) {
        at.leave(at.record + commits);
        write_file(at.directory / "f", content);
        CHECK(ztensor::recover(at.directory / "f").value() == recovery::kept_new);
        CHECK((read_file(at.directory / "f") == content));
        CHECK(at.directory.names() == std::vector<std::string>{"f"});
    }
}

TEST_CASE("a file that is copied together with its undo record is recovered where it is") {
    using namespace undo_records;
    const broken_off at;
    at.leave(at.record);
    const temp_dir copied;
    for (const std::string& name : at.directory.names()) {
        std::filesystem::copy_file(at.directory / name, copied / name);
    }
    CHECK(refusal(ztensor::reader::open(copied / "f")) == errc::truncated); // and never a mixture
    CHECK(ztensor::has_undo_record(copied / "f").value());
    CHECK(ztensor::recover(copied / "f").value() == recovery::undone);
    CHECK((read_file(copied / "f") == at.before));
    CHECK(copied.names() == std::vector<std::string>{"f"});
    CHECK(!ztensor::has_undo_record(copied / "f").value());
    CHECK(refusal(ztensor::has_undo_record(copied / "nothing" / "f")) == errc::io_error);
}

TEST_CASE("an undo record of a file that was to be extended puts back no more than it can be sure of") {
    using namespace undo_records;
    const temp_dir directory;
    gone_on_with::write_old(directory / "f");
    const bytes old = read_file(directory / "f");
    const std::filesystem::path record = directory / detail::undo_name(std::filesystem::path("f").native());
    const bytes mark("\1\2\3\4\0ZT\xff", 8);
    const auto head_of = [&](const bytes& whole, std::size_t old_bytes, std::size_t manifest_at, std::size_t mark_at,
                             const bytes& unmarked) {
        const bytes manifest = whole.substr(manifest_at, old_bytes - manifest_at);
        const bytes head = "ZTUNDO02" + little_endian(old_bytes, 8) + little_endian(manifest_at, 8) +
                           little_endian(mark_at, 8) + unmarked + mark + sum_of(manifest);
        return head + sum_of(head);
    };
    const std::size_t size = old.size();
    const bytes head = head_of(old, size, size - 40, size, bytes(8, '\0'));
    const auto commit_to = [&](std::uint64_t new_bytes, const bytes& last) {
        return head + piece_of(commit, little_endian(new_bytes, 8) + "12345678" + little_endian(last.size(), 8) + last);
    };
    const auto recovered = [&](const bytes& content, const bytes& left) {
        write_file(directory / "f", content);
        write_file(record, left);
        const auto done = ztensor::recover(directory / "f");
        const bool is_as_it_was = read_file(directory / "f") == content;
        const std::string kept = is_as_it_was ? " as it is" : read_file(directory / "f") == old ? " old" : " other";
        return (done ? std::to_string(static_cast<int>(*done)) : outcome(done)) + kept;
    };
    const auto code = [](recovery done) { return std::to_string(static_cast<int>(done)); };
    CHECK(recovered(old, head) == code(recovery::not_needed) + " as it is");
    CHECK(recovered(old + "12", head) == code(recovery::undone) + " old");
    CHECK(recovered(old + mark, head) == code(recovery::undone) + " old");
    CHECK(recovered(old + mark + bytes(100, 'n'), head) == code(recovery::undone) + " old");
    // Of a state that was complete but for the mark: less than that, more than that, and that.
    const bytes last = "the last bytes";
    const bytes whole = old + mark + bytes(50, 'n') + last;
    const bytes committed = commit_to(whole.size(), last);
    CHECK(recovered(old + "1234", committed) == "undo_record_refused as it is");
    CHECK(recovered(whole + "x", committed) == "undo_record_refused as it is");
    CHECK(recovered(whole.substr(0, size + 20), committed) == "undo_record_refused as it is");
    CHECK(recovered(whole, committed) == code(recovery::kept_new) + " other");
    CHECK((read_file(directory / "f") == old + "12345678" + bytes(50, 'n') + last));
    // A file that is whole may be a few bytes longer than one that a record is about, and is left alone.
    const bytes shorter = head_of(old, size - 4, size - 40, size - 4, bytes(8, '\0'));
    CHECK(recovered(old, shorter) == "undo_record_refused as it is");
}

TEST_CASE("the mark of a change is left out of a manifest of more than a MiB, wherever a piece of it ends") {
    using namespace undo_records;
    const temp_dir directory;
    {
        auto out = ztensor::writer::create(directory / "f").value();
        out.add("w", {1'300'000}, std::vector<std::uint8_t>(1'300'000, 7)).value();
        out.finish().value();
    }
    const bytes old = read_file(directory / "f");
    const std::filesystem::path record = directory / detail::undo_name(std::filesystem::path("f").native());
    const bytes mark("\1\2\3\4\0ZT\xff", 8);
    for (const std::size_t more : std::initializer_list<std::size_t>{0, 1, 4, 7, 8, 9}) {
        CAPTURE(more);
        const std::size_t size = old.size(), manifest_at = size - (std::size_t{1} << 20) - more;
        const bytes head = "ZTUNDO02" + little_endian(size, 8) + little_endian(manifest_at, 8) +
                           little_endian(size - 8, 8) + old.substr(size - 8) + mark + sum_of(old.substr(manifest_at));
        write_file(directory / "f", old.substr(0, size - 8) + mark);
        write_file(record, head + sum_of(head));
        const auto done = ztensor::recover(directory / "f");
        CHECK(outcome(done) == "ok");
        CHECK((read_file(directory / "f") == old));
    }
}

#if !defined(_WIN32)

TEST_CASE("an undo record that others can write to is obeyed by nobody, and gone with the next new file") {
    using namespace undo_records;
    namespace fs = std::filesystem;
    const broken_off at;
    at.leave(at.record);
    fs::permissions(at.directory / "f", fs::perms::owner_read | fs::perms::owner_write);
    fs::permissions(at.directory / at.record_name, fs::perms::all);
    CHECK(refusal(ztensor::recover(at.directory / "f")) == errc::undo_record_refused);
    auto out = ztensor::writer::create(at.directory / "f").value();
    REQUIRE(out.add("other", {1}, std::vector<float>{1}));
    REQUIRE(out.finish());
    CHECK(at.directory.names() == std::vector<std::string>{"f"});
}

#endif

TEST_CASE("a new file takes the undo record of the one with it that had its name") {
    using namespace undo_records;
    const broken_off at;
    const temp_dir elsewhere;
    gone_on_with::write_old(elsewhere / "whole");
    for (const ztensor::publish_mode mode : {ztensor::publish_mode::replace, ztensor::publish_mode::in_place}) {
        for (const ztensor::sync_level sync :
             {ztensor::sync_level::none, ztensor::sync_level::atomic, ztensor::sync_level::durable}) {
            for (const bool exists : {true, false}) {
                const auto options = ztensor::write_options().publish(mode).sync(sync);
                CAPTURE(static_cast<int>(mode), static_cast<int>(sync), exists);
                at.leave(at.record);
                if (!exists) {
                    std::filesystem::remove(at.directory / "f");
                }
                auto out = ztensor::writer::create(at.directory / "f", options).value();
                CHECK(at.directory.names().size() >= 1);
                REQUIRE(out.add("other", {1}, std::vector<float>{1}));
                REQUIRE(out.finish());
                CHECK(at.directory.names() == std::vector<std::string>{"f"});
                CHECK(ztensor::recover(at.directory / "f").value() == recovery::not_needed);

                at.leave(at.record);
                const auto from = ztensor::reader::open(elsewhere / "whole").value();
                auto to = ztensor::writer::create(at.directory / "f", options).value();
                REQUIRE(ztensor::copy(from, to));
                REQUIRE(to.finish());
                CHECK(at.directory.names() == std::vector<std::string>{"f"});
                CHECK((read_file(at.directory / "f") == read_file(elsewhere / "whole")));
            }
        }
    }
    at.leave(at.record);
    {
        auto dropped = ztensor::writer::create(at.directory / "f").value();
        REQUIRE(dropped.add("other", {1}, std::vector<float>{1}));
    }
    CHECK(ztensor::recover(at.directory / "f").value() == recovery::undone);
    CHECK((read_file(at.directory / "f") == at.before));
}

// Windows lets nobody replace a file that is open.
#if !defined(_WIN32)

TEST_CASE("a new file leaves the undo record of a writer that is alive to that writer") {
    using namespace undo_records;
    const temp_dir directory;
    gone_on_with::write_old(directory / "f");
    auto change =
        ztensor::edit(directory / "f", ztensor::write_options().publish(ztensor::publish_mode::in_place).sync(false))
            .value();
    REQUIRE(change.replace("b", {5}, std::vector<std::uint8_t>{9, 8, 7, 6, 5}));
    gone_on_with::write_old(directory / "f");
    const bytes whole = read_file(directory / "f");
    CHECK(gone_on_with::leftovers(directory.names()).size() == 1);
    CHECK(refusal(change.finish()) == errc::file_changed);
    CHECK(directory.names() == std::vector<std::string>{"f"});
    CHECK(read_file(directory / "f") == whole);
}

#endif

TEST_CASE("an undo record that its writer removes just then is not needed") {
    using namespace undo_records;
    const broken_off at;
    at.leave(at.record);
    write_file(at.directory / "f", at.before);
    meddling_os os([&](const detail::native_path& name, bool) {
        if (std::filesystem::path(name) != at.record_name) {
            return std::error_code();
        }
        std::filesystem::remove(at.directory / at.record_name);
        return std::make_error_code(std::errc::no_such_file_or_directory);
    });
    CHECK(detail::recover_by(at.directory / "f", os).value() == recovery::not_needed);
    CHECK(at.directory.names() == std::vector<std::string>{"f"});
}

TEST_CASE("whichever call fails while abandoned files are swept up, the next sweep finds what is left") {
    using namespace undo_records;
    const std::vector<std::string> kept = {".ztensor-00000000000000ff.tmp", ".ztensor-0123456789abcdeX.tmp", "f"};
    bool has_failed = true;
    for (std::size_t failing = 0; has_failed; ++failing) {
        for (const std::errc failure : {std::errc::io_error, std::errc::no_such_file_or_directory}) {
            const temp_dir directory;
            std::filesystem::create_directory(directory / kept[0]);
            write_file(directory / kept[1], "of no writer");
            write_file(directory / kept[2], "a file");
            write_file(directory / ".ztensor-0123456789abcdef.tmp", "left");
            write_file(directory / ".ztensor-fedcba9876543210.tmp", "left");
            faulty_os os;
            os.syncs = false;
            os.failure = std::make_error_code(failure);
            os.first_failing_call = failing;
            const auto swept = detail::remove_abandoned_by(directory.path(), 0, os);
            has_failed = os.calls.size() > failing;
            CAPTURE(failing, os.calls.back(), outcome(swept));
            CHECK(os.open_handles == 0);
            CHECK((swept || swept.error().code() == errc::io_error || swept.error().code() == errc::busy));
            const std::size_t left = directory.names().size() - kept.size();
            CHECK((!swept || failure != std::errc::io_error || left + *swept <= 2));
            CHECK(ztensor::remove_abandoned(directory.path(), 0).value() == left);
            CHECK(directory.names() == kept);
        }
    }
}

TEST_CASE("a sweep that can remove nothing tells of the first file, and looks at all") {
    using namespace undo_records;
    const temp_dir directory;
    write_file(directory / ".ztensor-0123456789abcdef.tmp", "left");
    write_file(directory / ".ztensor-fedcba9876543210.tmp", "left");
    faulty_os os;
    os.failing_name = "remove_in";
    CHECK(refusal(detail::remove_abandoned_by(directory.path(), 0, os)) == errc::io_error);
    CHECK(os.count("remove_in") == 2);
}

TEST_CASE("a manifest is read once when a file is opened to be gone on with, so that no change comes between") {
    using namespace undo_records;
    namespace cbor = support::cbor;
    const struct {
        ztensor::version generation;
        bytes from;
        bytes to;
    } cases[] = {
        {ztensor::version::v0_1, cbor::text("name") + cbor::text("w"), cbor::text("name") + "\x18w"},
        {ztensor::version::v0_1, cbor::text("name") + cbor::text("w"), cbor::text("name") + cbor::text("v")},
        {ztensor::version::v1_2, cbor::text("objects"), cbor::text("objectz")},
        {ztensor::version::v1_2, cbor::text("w"), cbor::text("v")},
        {ztensor::version::v1_2, cbor::text("objects"), "\xff" + cbor::text("object")},
    };
    for (const auto& each : cases) {
        const temp_dir directory;
        write_file(directory / "f", support::sample(each.generation).file());
        std::set<std::string> codes;
        for (std::size_t changed = 0;; ++changed) {
            changing_os os(each.from, each.to, changed);
            os.syncs = false;
            const auto out = detail::append_to(directory / "f", ztensor::write_options(), os);
            if (!os.has_changed) {
                CHECK(out);
                break;
            }
            codes.insert(outcome(out));
        }
        CAPTURE(each.to);
        CHECK(codes.size() == 1); // one read of it can be changed, and gives one answer
    }
}

TEST_CASE("a file that is replaced while it is opened to be gone on with is another writer's") {
    using namespace undo_records;
    const temp_dir directory;
    gone_on_with::write_old(directory / "f");
    gone_on_with::write_old(directory / "g");
    meddling_os os([&](const detail::native_path&, bool writes) {
        if (!writes && std::filesystem::exists(directory / "g")) {
            std::filesystem::rename(directory / "g", directory / "f");
        }
        return std::error_code();
    });
    CHECK(refusal(detail::append_to(directory / "f", ztensor::write_options(), os)) == errc::busy);
    CHECK(os.open_handles == 0);
    CHECK(detail::append_to(directory / "f", ztensor::write_options(), os));
}
