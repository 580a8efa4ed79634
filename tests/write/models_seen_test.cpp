// SPDX-License-Identifier: MIT
//
// Models in many files as other processes see them: read at every call of their writer, written by two at once, and
// left behind by one that was killed.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "write/models_saved.hpp"

#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sharded_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

namespace models_seen {

using models_saved::head_of;
using models_saved::options_of;
using models_saved::write_tensors;
using support::faulty_os;
using support::outcome;
using support::temp_dir;
using ztensor::errc;
using ztensor::format_version;
using ztensor::result;
using ztensor::sharded_writer;
using ztensor::sync_level;
using ztensor::write_options;
namespace detail = ztensor::detail;

constexpr format_version versions[] = {format_version::v0_1, format_version::v1_1, format_version::v1_2,
                                       format_version::v2};

result<void> save(const temp_dir& folder, format_version version, float number, std::size_t files, faulty_os& os) {
    return models_saved::save(folder / "m.zt", options_of(version), number, files, os);
}

/// The number of the model, if all of it can be read and is of one; 0 for one that can't; -1 for a mixture.
float number_of(const std::filesystem::path& path) {
    const auto model = ztensor::open_any(path);
    if (!model) {
        return 0;
    }
    std::optional<float> number;
    for (const auto& object : *model) {
        const auto elements = object.read<float>();
        if (!elements) {
            return 0;
        }
        for (const float each : *elements) {
            if (number.value_or(each) != each) {
                return -1;
            }
            number = each;
        }
    }
    const auto objects = static_cast<float>(model->size()); // so many has the model of that number
    return number == objects ? *number : -1;
}

/// Another process looks at the folder whenever something may have changed in it.
class watched_os final : public faulty_os {
    using native_path = detail::native_path;
    using os_directory = detail::os_directory;

public:
    explicit watched_os(std::function<void()> look) : look_(std::move(look)) { syncs = false; }

    detail::os_answer<detail::os_handle> create_in(const os_directory& directory, const native_path& name,
                                                   std::uint32_t permissions) override {
        return seen(faulty_os::create_in(directory, name, permissions));
    }
    std::error_code link_in(detail::os_handle file, const os_directory& directory, const native_path& name) override {
        return seen(faulty_os::link_in(file, directory, name));
    }
    detail::os_answer<std::size_t> write(detail::os_handle file, ztensor::bytes_view content) override {
        return seen(faulty_os::write(file, content));
    }
    std::error_code truncate(detail::os_handle file, std::uint64_t size_bytes) override {
        return seen(faulty_os::truncate(file, size_bytes));
    }
    std::error_code rename_in(const os_directory& directory, const native_path& from, const native_path& to) override {
        return seen(faulty_os::rename_in(directory, from, to));
    }
    std::error_code remove_in(const os_directory& directory, const native_path& name) override {
        return seen(faulty_os::remove_in(directory, name));
    }

private:
    template <class Answer>
    Answer seen(Answer answer) {
        look_();
        return answer;
    }

    std::function<void()> look_;
};

} // namespace models_seen

} // namespace

TEST_CASE("at every call of a writer of many files, others read the old model or the new one") {
    using namespace models_seen;
    for (const format_version version : versions) {
        CAPTURE(static_cast<int>(version));
        const temp_dir folder;
        faulty_os quick;
        quick.syncs = false;
        save(folder, version, 2, 2, quick).value();
        std::size_t looks = 0;
        float last = 2;
        watched_os os([&] {
            const float found = number_of(folder / head_of(version));
            CAPTURE(looks, found, last);
            REQUIRE((found == last || (last == 2 && found == 3)));
            REQUIRE(number_of(folder.path()) == found);
            last = found;
            ++looks;
        });
        save(folder, version, 3, 3, os).value();
        CHECK(last == 3);
        CHECK(looks > 15);
        CHECK(folder.names().size() == 4);
    }
}

TEST_CASE("a model that is opened while another one takes its place is opened once more") {
    using namespace models_seen;
    for (const format_version version : versions) {
        const temp_dir folder;
        faulty_os os;
        os.syncs = false;
        save(folder, version, 1, 1, os).value();
        const auto old = detail::open_source(folder / head_of(version), {}).value();
        save(folder, version, 2, 2, os).value();
        // The head of the old model was read, and its files are gone.
        bool is_first = true;
        const auto open = [&]() -> result<std::shared_ptr<const ztensor::byte_source>> {
            return std::exchange(is_first, false) ? old : detail::open_source(folder / head_of(version), {});
        };
        const auto read = [&](const auto& source) { return ztensor::open_any(source, folder / head_of(version)); };
        CHECK(detail::read_current(open, read).value().size() == 2);
        const auto stays = [&]() -> result<std::shared_ptr<const ztensor::byte_source>> { return old; };
        const auto refused = detail::read_current(stays, read);
        REQUIRE(!refused);
        CHECK(refused.error().code() == (version == format_version::v2 ? errc::shard_missing : errc::file_not_found));
    }
}

TEST_CASE("while a model in many files is written, another writer of it is busy, of whatever version") {
    using namespace models_seen;
    for (const format_version version : versions) {
        for (const format_version other : versions) {
            CAPTURE(static_cast<int>(version), static_cast<int>(other));
            const temp_dir folder;
            for (float number = 1; number <= 2; ++number) { // where there is a model, and where there is none
                auto out = sharded_writer::create(folder / "m.zt", options_of(version).sync(false)).value();
                CHECK(outcome(sharded_writer::create(folder / "m.zt", options_of(other))) == "busy");
                CHECK(outcome(sharded_writer::create(folder / "n.zt", options_of(other))) == "ok");
                CHECK(outcome(write_tensors(out, number, static_cast<std::size_t>(number))) == "ok");
                CHECK(number_of(folder / head_of(version)) == number);
                CHECK(outcome(sharded_writer::create(folder / "m.zt", options_of(other))) == "ok"); // and is dropped
            }
            CHECK(folder.names().size() == 3);
        }
    }
}

TEST_CASE(
    "the root of a model in shards is appended to, or replaced by another model in shards, but not both at once") {
    using namespace models_seen;
    const temp_dir folder;
    faulty_os os;
    save(folder, format_version::v2, 1, 1, os).value();
    {
        auto more = ztensor::writer::append(folder / "m.zt", write_options()).value();
        CHECK(outcome(ztensor::writer::create(folder / "m.zt", options_of(format_version::v2))) == "busy");
    }
    {
        auto out = ztensor::writer::create(folder / "m.zt", options_of(format_version::v2)).value();
        CHECK(outcome(ztensor::writer::append(folder / "m.zt", write_options())) == "busy");
        CHECK(write_tensors(out, 2, 2).has_value());
    }
    CHECK(number_of(folder / "m.zt") == 2);
    CHECK(ztensor::writer::append(folder / "m.zt", write_options()).has_value());
}

TEST_CASE("where there are no locks, no file of an older model is removed") {
    using namespace models_seen;
    for (const format_version version : versions) {
        const temp_dir folder;
        faulty_os os;
        os.syncs = false;
        os.failing_name = "lock";
        os.failure = std::make_error_code(std::errc::no_lock_available);
        save(folder, version, 1, 1, os).value();
        save(folder, version, 2, 2, os).value();
        CHECK(number_of(folder / head_of(version)) == 2);
        CHECK(folder.names().size() == 4);
    }
}

TEST_CASE("whichever call fails while a model in many files is saved anew, one whole model is there") {
    using namespace models_seen;
    for (const format_version version : versions) {
        const auto options = options_of(version).sync(sync_level::atomic);
        for (std::size_t call = 0;; ++call) {
            CAPTURE(static_cast<int>(version), call);
            const temp_dir folder;
            faulty_os quick, os;
            quick.syncs = os.syncs = false;
            models_saved::save(folder / "m.zt", options, 2, 2, quick).value();
            os.first_failing_call = call;
            const bool is_done = models_saved::save(folder / "m.zt", options, 3, 3, os).has_value();
            CHECK(os.open_handles == 0);
            const float found = number_of(folder / head_of(version));
            CHECK((found == 3 || (found == 2 && !is_done)));
            CHECK(number_of(folder.path()) == found);
            models_saved::save(folder / "m.zt", options, 1, 1, quick).value();
            CHECK(number_of(folder / head_of(version)) == 1);
            if (call >= os.calls.size()) { // none failed
                CHECK((is_done && call > 50));
                break;
            }
        }
    }
}

TEST_CASE("where an index in the folder can't be read, no file goes that it may name") {
    using namespace models_seen;
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        const temp_dir folder;
        faulty_os os;
        os.syncs = false;
        save(folder, version, 1, 1, os).value();
        const auto save_beside_it = [&](const char* failing) {
            faulty_os fails;
            fails.syncs = false;
            fails.failing_name = failing;
            save(folder, version, 1, 1, fails).value();
            return folder.names().size();
        };
        const std::filesystem::path other = folder / "other.index.json";
        std::filesystem::create_directory(other);
        CHECK(save_beside_it("") == 4);
        std::filesystem::remove(other);
        support::write_file(other, "{}");
        CHECK(save_beside_it("read") == 5);
        std::filesystem::resize_file(other, (std::uint64_t{128} << 20) + 1);
        CHECK(save_beside_it("") == 6);
        std::filesystem::resize_file(other, 2);
        CHECK(save_beside_it("list") == 7);
        CHECK(save_beside_it("") == 3);
    }
}

TEST_CASE("what stands in a finished shard is stored once, as far as the shard can be read") {
    using namespace models_seen;
    const temp_dir folder;
    const auto files_of = [&](const char* failing) {
        faulty_os os;
        os.syncs = false;
        const auto options = options_of(format_version::v2);
        auto* const core =
            new detail::writer_core(detail::create_root(folder / "m.zt", options, os).value(), nullptr, options);
        ztensor::writer out = detail::writer_access::make(core);
        core->file().shard_into(detail::shard_files::make(folder / "m.zt", options, os).value());
        core->begin().value();
        const std::vector<float> same(300'000, 1);
        out.add("a", {same.size()}, same).value();
        out.add("b", {1}, std::vector<float>{2}).value();
        os.failing_name = failing;
        out.add("c", {same.size()}, same).value();
        os.failing_name = {};
        out.finish().value();
        CHECK(ztensor::reader::open(folder / "m.zt").value().read<float>("c").value() == same);
        return folder.names().size();
    };
    CHECK(files_of("") == 3);
    CHECK(files_of("open_in") == 4);
    CHECK(files_of("read") == 4);
}

#if !defined(_WIN32)

namespace {

namespace models_seen {

/// In another process, which may be killed at one of its calls. Gives whether it came to its end.
bool save_in_child(const temp_dir& folder, format_version version, float number, std::size_t dies_at) {
    const int code = support::exit_code_of([&] {
        faulty_os os;
        os.syncs = false;
        os.dies = true;
        os.first_failing_call = dies_at;
        return save(folder, version, number, static_cast<std::size_t>(number), os) ? 0 : 1;
    });
    REQUIRE((code == 0 || code == 42));
    return code == 0;
}

} // namespace models_seen

} // namespace

TEST_CASE("a writer of many files that is killed leaves one whole model, and the next one clears up after it") {
    using namespace models_seen;
    for (const format_version version : versions) {
        std::size_t of_new = 0;
        for (std::size_t call = 0;; ++call) {
            CAPTURE(static_cast<int>(version), call);
            const temp_dir folder;
            faulty_os os;
            os.syncs = false;
            save(folder, version, 2, 2, os).value();
            const bool is_done = save_in_child(folder, version, 3, call);
            const float found = number_of(folder / head_of(version));
            REQUIRE((found == 3 || (found == 2 && !is_done)));
            REQUIRE(number_of(folder.path()) == found);
            of_new += found == 3 ? 1u : 0u;
            save(folder, version, 1, 1, os).value();
            REQUIRE(number_of(folder / head_of(version)) == 1);
            REQUIRE(ztensor::remove_abandoned(folder.path(), 0).has_value());
            REQUIRE(folder.names().size() == 2);
            if (is_done) {
                CHECK(call > 50);
                break;
            }
        }
        CHECK(of_new > 1);
    }
}

TEST_CASE("a child that leaves the scope of a writer of many files takes nothing of its parent's") {
    using namespace models_seen;
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        const temp_dir folder;
        auto out = sharded_writer::create(folder / "m.zt", options_of(version)).value();
        out.add("s", {1}, std::vector<float>{3}).value();
        const std::vector<std::string> before = folder.names();
        CHECK(support::exit_code_of([&] {
                  const sharded_writer taken = std::move(out);
                  return 0;
              }) == 0);
        CHECK(folder.names() == before);
        CHECK(outcome(sharded_writer::create(folder / "m.zt", options_of(version))) == "busy");
        CHECK(outcome(write_tensors(out, 3, 2)) == "ok");
        CHECK(number_of(folder / head_of(version)) == 3);
        CHECK(folder.names().size() == 4);
    }
}

TEST_CASE("beside a writer that writes a model in many files again and again, no reader sees a mixture") {
    using namespace models_seen;
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        const temp_dir folder;
        faulty_os os;
        os.syncs = false;
        save(folder, version, 3, 3, os).value();
        const ::pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            bool is_good = true;
            for (int i = 0; i < 60; ++i) {
                faulty_os own;
                own.syncs = false;
                is_good = save(folder, version, static_cast<float>(3 + i % 3), static_cast<std::size_t>(3 + i % 3), own)
                              .has_value() &&
                          is_good;
            }
            ::_exit(is_good ? 0 : 1);
        }
        std::size_t whole = 0;
        int status = 0;
        while (::waitpid(child, &status, WNOHANG) == 0) {
            const float found = number_of(folder / head_of(version));
            CHECK(found >= 0);
            whole += found > 0 ? 1u : 0u;
        }
        CHECK(status == 0);
        CHECK(whole > 0);
        CHECK(number_of(folder / head_of(version)) > 0);
    }
}

TEST_CASE("a writer of many files has all handles that it needs once it is made") {
    using namespace models_seen;
    for (const format_version version : versions) {
        for (const sync_level sync : {sync_level::none, sync_level::atomic, sync_level::durable}) {
            CAPTURE(static_cast<int>(version), static_cast<int>(sync));
            const temp_dir folder;
            const auto write = [&](bool takes_all_handles) {
                auto out = sharded_writer::create(folder / "m.zt", options_of(version).sync(sync)).value();
                ::rlimit before = {};
                ::getrlimit(RLIMIT_NOFILE, &before);
                if (takes_all_handles) {
                    const int next = ::dup(0);
                    ::close(next);
                    ::rlimit now = before;
                    now.rlim_cur = static_cast<::rlim_t>(next);
                    ::setrlimit(RLIMIT_NOFILE, &now);
                }
                const result<void> done = write_tensors(out, 3, 3);
                ::setrlimit(RLIMIT_NOFILE, &before);
                return done;
            };
            CHECK(write(false).has_value());
            const result<void> done = write(true);
            CAPTURE(done ? std::string() : std::string(done.error().what()));
            CHECK(done.has_value());
            CHECK(number_of(folder / head_of(version)) == 3);
            CHECK(folder.names().size() == 4);
        }
    }
}

#endif
