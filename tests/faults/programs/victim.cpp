// SPDX-License-Identifier: MIT
//
// victim ACTION FILE: one small change of a file, for disturb.sh to disturb. The actions are create, append,
// append_in_place, edit, edit_in_place and recover. Exit status 0: done; 1: an error, told of on the standard error; 4:
// one without a word.
//
// victim check FOLDER TEMPLATE NEW: tidies up FOLDER by recover() and remove_abandoned(); then it must hold the file
// "f" alone, equal to "f" of the folder TEMPLATE or, for a change that was done (NEW begins with "!"), to the file NEW.
// Afterwards FOLDER is as TEMPLATE again. Exit status 0: all as promised; 3: not so, as the standard output says.
//
// victim kill_at_random FOLDER ROUNDS SEED: changes a file of FOLDER/work so many times, each time in a process that is
// killed at a random moment, every other time with a recovery that is killed likewise; then as check. Writes how many
// were tried, ended with an error, were done all the same, were killed, and broke a promise; 3 if any did.
#include <ztensor/edit.hpp>
#include <ztensor/writer.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;

using ztensor::result;
using ztensor::write_options;

std::string content_of(const fs::path& path) {
    std::error_code unknown;
    const std::uintmax_t size = fs::file_size(path, unknown);
    std::string content(unknown ? 0 : static_cast<std::size_t>(size), '\0');
    std::ifstream(path, std::ios::binary).read(content.data(), static_cast<std::streamsize>(content.size()));
    return content;
}

/// Into a file that is there already, if there is one: an undo record is about that very file.
void put(const fs::path& path, const std::string& content) {
    if (!fs::exists(path) || content_of(path) != content) {
        std::ofstream(path, std::ios::binary) << content;
    }
}

const std::vector<float> floats = {1, 2, 3};
const ztensor::store with_digest = ztensor::store().digest(ztensor::digest::crc32c);

result<void> add_all(result<ztensor::writer> opened, const char* first, const char* second) {
    if (!opened) {
        return std::move(opened).error();
    }
    const std::vector<std::uint8_t> large((std::size_t{1} << 20) + 70000, 7); // in several transfers
    result<void> done = opened->add(first, {3}, floats, with_digest);
    done = done ? opened->add(second, {large.size()}, large) : std::move(done);
    return done ? opened->finish() : done;
}

result<void> edit_all(result<ztensor::editor> opened) {
    if (!opened) {
        return std::move(opened).error();
    }
    result<void> done = opened->replace("a", {3}, std::vector<float>{7, 8, 9}, with_digest);
    done = done ? opened->rename("z", "y") : std::move(done);
    return done ? opened->finish() : done;
}

result<void> act(const std::string& action, const std::string& path) {
    const write_options beside = write_options().threads(1);
    const write_options in_place = write_options(beside).publish(ztensor::publish_mode::in_place);
    if (action == "create") {
        return add_all(ztensor::writer::create(path, beside), "new", "large");
    }
    if (action == "old") { // what the others find
        return add_all(ztensor::writer::create(path, beside), "a", "z");
    }
    if (action == "append" || action == "append_in_place") {
        return add_all(ztensor::writer::append(path, action == "append" ? beside : in_place), "b", "large");
    }
    if (action == "edit" || action == "edit_in_place") {
        return edit_all(ztensor::edit(path, action == "edit" ? beside : in_place));
    }
    if (action == "recover") {
        return ztensor::recover(path).transform([](ztensor::recovery) {});
    }
    return ztensor::error(ztensor::errc::invalid_argument, "no such action");
}

std::string what_is_wrong(const fs::path& folder, const fs::path& model, std::string changed) {
    const bool must_be_new = changed.front() == '!';
    changed.erase(0, must_be_new ? 1 : 0);
    const auto recovered = ztensor::recover(folder / "f");
    const auto swept = ztensor::remove_abandoned(folder, 0);
    if (!recovered || !swept) {
        return (recovered ? swept.error() : recovered.error()).what();
    }
    for (const fs::directory_entry& each : fs::directory_iterator(folder)) {
        if (each.path().filename() != "f") {
            return each.path().filename().string() + " is left";
        }
    }
    const std::string found = content_of(folder / "f");
    if (found != content_of(changed) && (must_be_new || found != content_of(model / "f.old"))) {
        return must_be_new ? "done, and not the new file" : "neither the old nor the new file";
    }
    return "";
}

int check(const fs::path& folder, const fs::path& model, const std::string& changed) {
    const std::string wrong = what_is_wrong(folder, model, changed);
    for (const fs::directory_entry& each : fs::directory_iterator(model)) {
        if (each.path().filename() != "f.old") {
            put(folder / each.path().filename(), content_of(each.path()));
        }
    }
    std::cout << wrong << (wrong.empty() ? "" : "\n");
    return wrong.empty() ? 0 : 3;
}

class kills {
public:
    kills(const fs::path& folder, unsigned seed) : work_(folder / "work"), model_(folder / "model"), random_(seed) {
        fs::create_directories(work_);
        fs::create_directories(model_);
        act("old", (model_ / "f.old").string()).value();
        old_ = content_of(model_ / "f.old");
        for (change& each : all_) {
            fs::copy_file(model_ / "f.old", folder / each.action, fs::copy_options::overwrite_existing);
            const auto start = clock::now();
            act(each.action, (folder / each.action).string()).value();
            each.lasts = clock::now() - start;
            each.after = folder / each.action;
        }
    }

    int run(unsigned rounds) {
        for (unsigned round = 0; round < rounds; ++round) {
            change_once(all_[round % all_.size()], round % 2 == 0);
        }
        std::cout << "random_kills - " << rounds << ' ' << errors_ << ' ' << done_ << ' ' << killed_ << ' ' << broken_
                  << '\n';
        return broken_ == 0 ? 0 : 3;
    }

private:
    using clock = std::chrono::steady_clock;

    struct change {
        const char* action;
        fs::path after; ///< the file as it is when nothing disturbed it
        clock::duration lasts = {};
    };

    void change_once(const change& what, bool kills_recovery) {
        const std::string target = (work_ / "f").string();
        put(target, old_);
        const int status = killed_after(moment_of(what.lasts), what.action, target);
        errors_ += status == 1 ? 1 : 0;
        done_ += status == 0 ? 1 : 0;
        killed_ += status == SIGKILL + 128 ? 1 : 0;
        if (kills_recovery) {
            killed_after(moment_of(what.lasts), "recover", target);
        }
        const std::string wrong = what_is_wrong(work_, model_, (status == 0 ? "!" : "") + what.after.string());
        if (!wrong.empty()) {
            ++broken_;
            std::cerr << "BROKEN: " << what.action << ", killed at random: " << wrong << '\n';
        }
    }

    /// Before it is over, or little later.
    clock::duration moment_of(clock::duration whole) {
        return whole * std::uniform_int_distribution<int>(0, 1100)(random_) / 1000;
    }

    /// The exit status as a shell gives it.
    static int killed_after(clock::duration moment, const std::string& action, const std::string& target) {
        const ::pid_t child = ::fork();
        if (child == 0) {
            ::_exit(act(action, target) ? 0 : 1);
        }
        std::this_thread::sleep_for(moment);
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) + 128;
    }

    std::array<change, 5> all_ = {
        {{"create", {}}, {"append", {}}, {"append_in_place", {}}, {"edit", {}}, {"edit_in_place", {}}}};
    fs::path work_, model_;
    std::string old_;
    std::mt19937 random_;
    unsigned errors_ = 0, done_ = 0, killed_ = 0, broken_ = 0;
};

} // namespace

int main(int argc, char** argv) {
    if (argc == 5 && std::string(argv[1]) == "kill_at_random") {
        return kills(argv[2], static_cast<unsigned>(std::atoi(argv[4]))).run(static_cast<unsigned>(std::atoi(argv[3])));
    }
    if (argc == 5 && std::string(argv[1]) == "check") {
        return check(argv[2], argv[3], argv[4]);
    }
    if (argc != 3) {
        std::cerr << "usage: victim ACTION FILE\n";
        return 2;
    }
    std::remove("/ztensor-begins"); // tells the calls of the change from those of the program's start
    const result<void> done = act(argv[1], argv[2]);
    if (!done) {
        std::cerr << ztensor::name(done.error().code()) << ": " << done.error().what() << '\n';
        return done.error().sentence().empty() ? 4 : 1;
    }
    return 0;
}
