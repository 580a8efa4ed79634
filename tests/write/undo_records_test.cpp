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

#include <ztensor/detail/edit/appending.hpp>
#include <ztensor/detail/edit/editing.hpp>
#include <ztensor/detail/edit/recovering.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/recover.hpp>

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

constexpr std::size_t head_bytes = 40;

bytes sum_of(const bytes& content) {
    return little_endian(detail::undo_sum(support::bytes_of(content)), 4);
}

/// Old bytes that stood at `offset`, or the end of the record.
bytes piece_of(std::uint64_t offset, const bytes& content) {
    const bytes piece = little_endian(offset, 8) + little_endian(content.size(), 8) + content;
    return piece + sum_of(piece);
}

/// The first 40 bytes of a record with the number at `at` changed, and their sum right again.
bytes head_with(const bytes& head, std::size_t at, std::uint64_t value) {
    const bytes changed = head.substr(0, at) + little_endian(value, 8) + head.substr(at + 8, 28 - at);
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

    temp_dir directory;
    std::string record_name;
    bytes record;
    bytes before;
    bytes after;
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

TEST_CASE("of an undo record that is damaged or forged no byte is put back that did not stand there") {
    using namespace undo_records;
    const broken_off at;
    const bytes head = at.record.substr(0, head_bytes);
    const bytes pieces = at.record.substr(head_bytes);
    const std::uint64_t size = at.before.size();
    bytes damaged_head = head;
    damaged_head[39] = static_cast<char>(damaged_head[39] ^ 1);
    const struct {
        const char* what;
        bytes record;
        recovery outcome;
        bool is_undone;
    } cases[] = {
        {"as it was made", at.record, recovery::undone, true},
        {"a head of another sum", damaged_head + pieces, recovery::not_needed, false},
        {"a piece behind the end", head + piece_of(size + 1, "x"), recovery::not_needed, false},
        {"a piece over the end", head + piece_of(size - 1, "xyz"), recovery::not_needed, false},
        {"pieces behind such a one", head + piece_of(size - 1, "xyz") + pieces, recovery::not_needed, false},
        {"an end of 7 bytes", at.record + piece_of(~std::uint64_t{0}, little_endian(size, 7)), recovery::undone, true},
        {"an end of 9 bytes", at.record + piece_of(~std::uint64_t{0}, little_endian(size, 8) + "x"), recovery::undone,
         true},
        {"an end of 8 bytes", at.record + piece_of(~std::uint64_t{0}, little_endian(size, 8)), recovery::kept_new,
         false},
        {"a manifest behind the end", head_with(head, 16, size + 1) + pieces, recovery::kept_new, false},
        {"a longer old file", head_with(head, 8, size + 1) + pieces, recovery::kept_new, false},
        {"another file", head_with(head, 24, 1) + pieces, recovery::kept_new, false},
    };
    for (const auto& each : cases) {
        CAPTURE(each.what);
        at.leave(each.record);
        CHECK(ztensor::recover(at.directory / "f").value() == each.outcome);
        CHECK((read_file(at.directory / "f") == (each.is_undone ? at.before : at.after)));
        CHECK(at.directory.names() == std::vector<std::string>{"f"});
    }
}

TEST_CASE("a file that does not read and that its undo record is not about is left alone, record and all") {
    using namespace undo_records;
    const broken_off at;
    at.leave(at.record);
    const bytes cut = at.after.substr(0, at.after.size() - 1);
    write_file(at.directory / "f", cut);
    CHECK(refusal(ztensor::recover(at.directory / "f")) == errc::file_changed);
    CHECK(read_file(at.directory / "f") == cut);
    CHECK(read_file(at.directory / at.record_name) == at.record);
}

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
            const auto swept = detail::remove_abandoned_by(directory.path(), os);
            has_failed = os.calls.size() > failing;
            CAPTURE(failing, os.calls.back(), outcome(swept));
            CHECK(os.open_handles == 0);
            CHECK((swept || swept.error().code() == errc::io_error || swept.error().code() == errc::busy));
            const std::size_t left = directory.names().size() - kept.size();
            CHECK((!swept || failure != std::errc::io_error || left + *swept <= 2));
            CHECK(ztensor::remove_abandoned(directory.path()).value() == left);
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
    CHECK(refusal(detail::remove_abandoned_by(directory.path(), os)) == errc::io_error);
    CHECK(os.count("remove_in") == 2);
}

TEST_CASE("a manifest that changes while a file is opened to be gone on with is refused") {
    using namespace undo_records;
    namespace cbor = support::cbor;
    const struct {
        ztensor::generation generation;
        bytes from;
        bytes to;
    } cases[] = {
        {ztensor::generation::v0_1, cbor::text("name") + cbor::text("w"), cbor::text("name") + "\x18w"},
        {ztensor::generation::v0_1, cbor::text("name") + cbor::text("w"), cbor::text("name") + cbor::text("v")},
        {ztensor::generation::v1_2, cbor::text("objects"), cbor::text("objectz")},
        {ztensor::generation::v1_2, cbor::text("w"), cbor::text("v")},
        {ztensor::generation::v1_2, cbor::text("objects"), "\xff" + cbor::text("object")},
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
        CHECK(codes.count("file_changed") == 1);
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
