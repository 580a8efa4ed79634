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

constexpr std::size_t sum_at = 60;

bytes sum_of(const bytes& content) {
    return little_endian(~detail::crc32c_update(~0u, support::bytes_of(content)), 4);
}

/// The record of an old file that is the first bytes of `content`, and whose end begins there.
bytes record_of(const bytes& content, std::uint64_t old_bytes, std::uint64_t end_offset) {
    const auto begin = static_cast<std::size_t>(end_offset);
    const bytes head = "ZTUNDO03" + little_endian(old_bytes, 8) + little_endian(end_offset, 8) +
                       sum_of(content.substr(begin, static_cast<std::size_t>(old_bytes) - begin)) + bytes(32, '\0');
    return head + sum_of(head);
}

/// The record with the number at `at` changed, and its sum right again.
bytes record_with(const bytes& record, std::size_t at, std::uint64_t value, std::size_t size = 8) {
    const bytes number = little_endian(value, size);
    const bytes head = record.substr(0, at) + number + record.substr(at + number.size(), sum_at - at - number.size());
    return head + sum_of(head);
}

/// A file that was being edited in place when its writer ended: all but the footer was written.
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
        change.finish().value();
        finished = read_file(directory / "f");
        after = finished.substr(0, finished.size() - 16) + bytes(16, '\0');
    }

    /// Puts it there, with this record.
    void leave(const bytes& left) const { leave(left, after); }
    void leave(const bytes& left, const bytes& content) const {
        write_file(directory / "f", content);
        write_file(directory / record_name, left);
    }

    temp_dir directory;
    std::string record_name;
    bytes record;
    bytes before;
    bytes after;
    bytes finished; ///< what was to come of it
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

TEST_CASE("an undo record is 64 bytes that say how long the file was and what stood at its end") {
    using namespace undo_records;
    const broken_off at;
    const std::size_t manifest_bytes =
        static_cast<std::size_t>(detail::load_little(support::bytes_of(at.before).data() + at.before.size() - 16, 8));
    CHECK((at.record == record_of(at.before, at.before.size(), at.before.size() - 16 - manifest_bytes)));
    CHECK(at.record.size() == 64);
    CHECK((at.finished.substr(0, at.before.size()) == at.before));
}

TEST_CASE("an undo record that is damaged or forged is refused, or the file is as it was") {
    using namespace undo_records;
    const broken_off at;
    const std::uint64_t size = at.before.size();
    const struct {
        const char* what;
        bytes record;
        bool is_obeyed;
    } cases[] = {
        {"as it was made", at.record, true},
        {"with more behind it", at.record + "more", true},
        {"of an end that begins later", record_of(at.before, size, size - 1), true},
        {"of another sum", at.record.substr(0, sum_at) + "abcd", false},
        {"cut off", at.record.substr(0, 63), false},
        {"empty", "", false},
        {"an end that begins behind it", record_with(at.record, 16, size + 1), false},
        {"an end of no bytes, with the sum of others", record_with(at.record, 16, size), false},
        {"an end that begins elsewhere", record_with(at.record, 16, 64), false},
        {"a longer old file", record_with(at.record, 8, size + 1), false},
        {"a shorter old file", record_with(at.record, 8, size - 1), false},
        {"an old file of more bytes than there are", record_with(at.record, 8, at.after.size() + 1), false},
        {"an old file of 2^64 - 1 bytes", record_with(at.record, 8, ~std::uint64_t{0}), false},
        {"an end of another sum", record_with(at.record, 24, 1, 4), false},
        {"an earlier release's", "ZTUNDO02" + at.record.substr(8), false},
        {"the first bytes of an earlier release's", "ZTUNDO01", false},
    };
    for (const auto& each : cases) {
        CAPTURE(each.what);
        at.leave(each.record);
        const auto recovered = ztensor::recover(at.directory / "f");
        if (!each.is_obeyed) {
            CHECK(refusal(recovered) == errc::undo_record_refused);
            CHECK((read_file(at.directory / "f") == at.after));
            CHECK((read_file(at.directory / at.record_name) == each.record));
            continue;
        }
        CHECK(recovered.value() == recovery::undone);
        CHECK((read_file(at.directory / "f") == at.before));
        CHECK(at.directory.names() == std::vector<std::string>{"f"});
    }
}

TEST_CASE("with any one byte of its undo record damaged a file is left as it is") {
    using namespace undo_records;
    const broken_off at;
    for (std::size_t damaged = 0; damaged < at.record.size(); ++damaged) {
        for (const bool is_cut : {false, true}) {
            bytes left = at.record;
            left[damaged] = static_cast<char>(left[damaged] ^ 0x20);
            left.resize(is_cut ? damaged : left.size());
            CAPTURE(damaged, is_cut);
            at.leave(left);
            CHECK(refusal(ztensor::recover(at.directory / "f")) == errc::undo_record_refused);
            CHECK((read_file(at.directory / "f") == at.after));
            CHECK((read_file(at.directory / at.record_name) == left));
        }
    }
}

TEST_CASE("a complete file that came in the place of an extended one is left as it is, and the record goes") {
    using namespace undo_records;
    const broken_off at;
    const auto with = [&](bytes content, std::size_t offset, const bytes& other) {
        return content.replace(offset, other.size(), other);
    };
    const temp_dir elsewhere;
    gone_on_with::write_old(elsewhere / "f", ztensor::format_version::v0_1);
    const struct {
        const char* what;
        bytes content;
        recovery outcome;
    } complete[] = {
        {"the old one", at.before, recovery::not_needed},
        {"another checkpoint with the index of the old one", with(at.before, 64, "other"), recovery::not_needed},
        {"the new one", at.finished, recovery::kept_new},
        {"another one that begins as the old one does", with(at.finished, 64, "other"), recovery::kept_new},
        {"one of another version", read_file(elsewhere / "f"), recovery::not_needed},
    };
    for (const auto& each : complete) {
        for (const bytes& record : {at.record, at.record.substr(0, 40)}) { // of which the second says nothing
            CAPTURE(each.what, record.size());
            at.leave(record, each.content); // into the same inode
            CHECK(refusal(ztensor::edit(at.directory / "f")) == errc::recovery_needed);
            const auto recovered = ztensor::recover(at.directory / "f");
            CHECK(recovered.value() == (record.size() == 64 ? each.outcome : recovery::not_needed));
            CHECK((read_file(at.directory / "f") == each.content));
            CHECK(at.directory.names() == std::vector<std::string>{"f"});
        }
    }
    const struct {
        const char* what;
        bytes content;
    } cut_off[] = {
        {"a shorter one", at.before.substr(0, at.before.size() - 1)},
        {"none", ""},
        {"one whose old end is another", with(at.after, at.before.size() - 20, "x")},
        {"no tensors", bytes(2 * at.after.size(), 'x')},
    };
    for (const auto& each : cut_off) {
        CAPTURE(each.what);
        at.leave(at.record, each.content);
        CHECK(refusal(ztensor::recover(at.directory / "f")) == errc::undo_record_refused);
        CHECK((read_file(at.directory / "f") == each.content));
        CHECK((read_file(at.directory / at.record_name) == at.record));
    }
}

TEST_CASE("whatever stands behind the old end of a file without a new one goes, also a whole file") {
    using namespace undo_records;
    const broken_off at;
    for (const auto version : {ztensor::format_version::v0_1, ztensor::format_version::v1_1,
                               ztensor::format_version::v1_2, ztensor::format_version::v2}) {
        const temp_dir elsewhere;
        gone_on_with::write_old(elsewhere / "f", version);
        const bytes old = read_file(elsewhere / "f");
        ztensor::writer out =
            ztensor::writer::append(elsewhere / "f",
                                    ztensor::write_options().publish(ztensor::publish_mode::in_place).sync(false))
                .value();
        const std::string record_name = gone_on_with::leftovers(elsewhere.names()).at(0);
        const bytes record = read_file(elsewhere / record_name);
        out.add("n", {3}, std::vector<float>{4, 5, 6}).value();
        out.finish().value();
        const bytes longer = read_file(elsewhere / "f");
        const bytes padding((4096 - old.size() % 4096) % 4096, '\0');
        for (const bytes& behind :
             {bytes("1"), bytes(8, '\0'), bytes(5000, 'n'), old, at.finished, longer, padding + longer,
              padding + old + bytes(8, '\0'), padding + longer + longer, longer.substr(old.size()) + bytes(8, '\0'),
              longer.substr(old.size(), longer.size() - old.size() - 1)}) {
            CAPTURE(static_cast<int>(version), behind.size());
            write_file(elsewhere / "f", old + behind);
            write_file(elsewhere / record_name, record);
            CHECK(ztensor::recover(elsewhere / "f").value() == recovery::undone);
            CHECK((read_file(elsewhere / "f") == old));
            CHECK(elsewhere.names() == std::vector<std::string>{"f"});
        }
        write_file(elsewhere / "f", longer);
        write_file(elsewhere / record_name, record);
        CHECK(ztensor::recover(elsewhere / "f").value() == recovery::kept_new);
        CHECK((read_file(elsewhere / "f") == longer));
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

TEST_CASE("an old end of more than a MiB is summed up whole, wherever a piece of it ends") {
    using namespace undo_records;
    const temp_dir directory;
    {
        auto out = ztensor::writer::create(directory / "f").value();
        out.add("w", {1'300'000}, std::vector<std::uint8_t>(1'300'000, 7)).value();
        out.finish().value();
    }
    const bytes old = read_file(directory / "f");
    const std::filesystem::path record = directory / detail::undo_name(std::filesystem::path("f").native());
    for (const std::size_t more : {std::size_t{0}, std::size_t{1}, std::size_t{9}}) {
        CAPTURE(more);
        const std::size_t begin = old.size() - (std::size_t{1} << 20) - more;
        bytes other = old;
        other[begin] = 'x';
        write_file(directory / "f", other + "new");
        write_file(record, record_of(old, old.size(), begin));
        CHECK(refusal(ztensor::recover(directory / "f")) == errc::undo_record_refused);
        write_file(directory / "f", old + "new");
        CHECK(ztensor::recover(directory / "f").value() == recovery::undone);
        CHECK((read_file(directory / "f") == old));
    }
}

#if !defined(_WIN32)

TEST_CASE("an undo record that others can write to is obeyed by nobody") {
    using namespace undo_records;
    namespace fs = std::filesystem;
    const broken_off at;
    at.leave(at.record);
    fs::permissions(at.directory / "f", fs::perms::owner_read | fs::perms::owner_write);
    fs::permissions(at.directory / at.record_name, fs::perms::all);
    CHECK(refusal(ztensor::recover(at.directory / "f")) == errc::undo_record_refused);
    CHECK((read_file(at.directory / "f") == at.after));
}

#endif

TEST_CASE("an undo record that lies beside a new file is removed by recover(), which leaves the file as it is") {
    using namespace undo_records;
    const broken_off at;
    for (const ztensor::publish_mode mode : {ztensor::publish_mode::replace, ztensor::publish_mode::in_place}) {
        for (const bool exists : {true, false}) {
            CAPTURE(static_cast<int>(mode), exists);
            at.leave(at.record);
            if (!exists) {
                std::filesystem::remove(at.directory / "f");
            }
            auto out = ztensor::writer::create(at.directory / "f", ztensor::write_options().publish(mode)).value();
            REQUIRE(out.add("other", {1}, std::vector<float>{1}));
            REQUIRE(out.finish());
            const bytes content = read_file(at.directory / "f");
            CHECK(refusal(ztensor::writer::append(at.directory / "f")) == errc::recovery_needed);
            CHECK(ztensor::recover(at.directory / "f").value() == recovery::not_needed);
            CHECK((read_file(at.directory / "f") == content));
            CHECK(at.directory.names() == std::vector<std::string>{"f"});
            CHECK(ztensor::writer::append(at.directory / "f"));
        }
    }
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
