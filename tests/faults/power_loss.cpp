// SPDX-License-Identifier: MIT
#include "faults/power_loss.hpp"

#include <ztensor/detail/write/editor.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace faults {

namespace {

using ztensor::errc;
using ztensor::format_version;
using ztensor::publish_mode;
using ztensor::recovery;
using ztensor::result;
using ztensor::sync_level;
using ztensor::write_options;
using ztensor::detail::os_calls;

const native_path target = ztensor::file_path("f").native();

// -- changes

std::vector<std::uint8_t> some_bytes(std::uint64_t size, std::uint64_t seed) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::uint8_t>((i * 7 + seed * 31) % 251 + 1); // no zeros, which lost sectors hold
    }
    return bytes;
}

write_options options_of(format_version version) {
    const write_options options = write_options().version(version);
    return version == format_version::v2 ? write_options(options).alignment_bytes(4096)
                                         : options; // else files are long
}

ztensor::digest digest_for(format_version version) {
    return version == format_version::v2 ? ztensor::digest::xxh3 : ztensor::digest::crc32c;
}

result<void> create(os_calls& os, const write_options& options, std::uint64_t seed) {
    result<std::unique_ptr<ztensor::byte_sink>> sink = ztensor::detail::create_sink("f", options, os);
    if (!sink) {
        return std::move(sink).error();
    }
    result<ztensor::writer> out = ztensor::writer::to_sink(*std::move(sink), options);
    if (!out) {
        return std::move(out).error();
    }
    const std::vector<float> floats = {1, 2, static_cast<float>(seed)};
    const std::vector<std::int32_t> alike(1000, 7);
    result<void> done = out->add("a", {3}, floats, ztensor::store().digest(digest_for(options.version())));
    done = done ? out->add("b", {5 + seed % 700}, some_bytes(5 + seed % 700, seed)) : std::move(done);
    done = done ? out->add("z", {1000}, alike, ztensor::store().zstd(1)) : std::move(done);
    return done ? out->finish() : done;
}

result<void> append(os_calls& os, const write_options& options, std::uint64_t seed) {
    result<ztensor::writer> out = ztensor::detail::append_to("f", options, os);
    if (!out) {
        return std::move(out).error();
    }
    const std::uint64_t size = 1 + seed * 13 % 1500;
    result<void> done = out->add("more", {size}, some_bytes(size, seed));
    done = done ? out->add("n", {3}, std::vector<float>{4, 5, 6}) : std::move(done);
    return done ? out->finish() : done;
}

result<void> edit(os_calls& os, const write_options& options, std::uint64_t seed) {
    auto made = ztensor::detail::edit_by("f", options, os);
    if (!made) {
        return std::move(made).error();
    }
    ztensor::editor edited = ztensor::detail::editor_access::make(made->release());
    result<void> done =
        edited.replace("a", {3}, std::vector<float>{7, 8, 9}, ztensor::store().digest(ztensor::digest::crc32c));
    done = done ? edited.rename("z", "y") : std::move(done);
    if (done && options.publish() == publish_mode::in_place) {
        done = edited.replace("b", {5 + seed % 700}, some_bytes(5 + seed % 700, seed + 1));
        done = done ? edited.replace("a", {3}, std::vector<float>{-7, -8, -9},
                                     ztensor::store().digest(ztensor::digest::crc32c))
                    : std::move(done);
    } else if (done) {
        done = edited.remove("b");
    }
    return done ? edited.finish() : done;
}

disk_image with_old_file(std::uint64_t seed, format_version version) {
    memory_disk disk({});
    create(disk, options_of(version).sync(false).threads(1), seed).value();
    disk_image image;
    image.put(target, *disk.image().find(target));
    return image;
}

/// What is left of that file where whoever edits it in place is killed in the midst of it.
disk_image with_changed_file(std::uint64_t seed, const disk_image& before) {
    const write_options in_place = options_of(format_version::v1_2).threads(1).publish(publish_mode::in_place);
    for (std::size_t call = 0;; ++call) {
        memory_disk disk(before);
        disk.first_failing_call = call;
        disk.failing_calls = memory_disk::never;
        static_cast<void>(edit(disk, in_place, seed));
        memory_disk tidied(disk.image());
        const bool is_changed = *disk.image().find(target) != *before.find(target);
        if (is_changed && ztensor::detail::recover_by("f", tidied).value() == recovery::undone) {
            disk_image left;
            for (const auto& [name, file] : disk.image().names) {
                left.put(name, disk.image().files[file]);
            }
            return left;
        }
    }
}

// -- promises

/// What the target may be.
struct promise {
    std::optional<std::string> old_state; ///< nothing where there was no file
    std::string new_state;
    bool is_new = false; ///< no more and no less
};

bool is_kept(const promise& promised, const std::string* found) {
    const bool is_new = found != nullptr && *found == promised.new_state;
    const bool is_old = promised.old_state ? found != nullptr && *found == *promised.old_state : found == nullptr;
    return is_new || (is_old && !promised.is_new);
}

/// What is wrong with the disk after it was tidied up, in a folder of these inodes; "" if nothing is.
std::string broken_promise(const disk_image& left, const promise& promised, std::uint64_t first_file_id = 1) {
    memory_disk disk(left);
    disk.first_file_id = first_file_id;
    const result<recovery> recovered = ztensor::detail::recover_by("f", disk);
    if (!recovered) {
        return "recover: " + std::string(recovered.error().what());
    }
    if (!is_kept(promised, disk.image().find(target))) {
        return promised.is_new ? "the target is not the new file" : "the target is neither the old nor the new file";
    }
    if (!ztensor::detail::remove_abandoned_by(".", 0, disk)) {
        return "the sweep fails";
    }
    for (const auto& each : disk.image().names) {
        if (each.first != target) {
            return "something is left beside the target";
        }
    }
    const result<recovery> again = ztensor::detail::recover_by("f", disk);
    if (!again || *again != recovery::not_needed) {
        return "recover finds work twice";
    }
    return disk.open_handles() == 0 ? "" : "handles are left open";
}

/// What is wrong if another whole file has been put in the target's place, into its inode: it must stay as it is.
std::string broken_promise_to_another(const disk_image& left, const std::string& other) {
    disk_image replaced = left;
    const auto found = replaced.names.find(target);
    if (found == replaced.names.end()) {
        return "";
    }
    replaced.files[found->second] = other;
    memory_disk disk(replaced);
    const result<recovery> recovered = ztensor::detail::recover_by("f", disk);
    if (*disk.image().find(target) != other) {
        return "another file was changed";
    }
    if (!recovered && recovered.error().code() != errc::undo_record_refused) {
        return "beside another file, recover: " + std::string(recovered.error().what());
    }
    return disk.open_handles() == 0 ? "" : "handles are left open";
}

/// Files with the layout, and even the manifest, of those that the change is about.
std::vector<std::string> files_alike(const promise& promised) {
    constexpr std::size_t in_a_blob = 130; // in which one byte is another
    std::vector<std::string> all = {promised.new_state, promised.old_state.value_or(promised.new_state)};
    for (const std::string& each : {promised.new_state, promised.old_state.value_or(promised.new_state)}) {
        all.push_back(each);
        all.back()[in_a_blob] = static_cast<char>(all.back()[in_a_blob] ^ 1);
    }
    return all;
}

/// The same where recover() is cut off after any of its operations. Once it has returned, a power cut changes nothing.
std::string broken_promise_of_recovery(const disk_image& left, promise promised, std::mt19937_64& random) {
    memory_disk disk(left);
    if (!ztensor::detail::recover_by("f", disk)) {
        return "recover fails";
    }
    const std::size_t end = disk.journal().size();
    for (std::size_t cut = 0; cut <= end; ++cut) {
        if (cut == end && disk.image().find(target) != nullptr) {
            promised.new_state = *disk.image().find(target);
            promised.is_new = true;
        }
        const std::string wrong = broken_promise(power_cut(left, disk.journal(), cut).random_state(random), promised);
        if (!wrong.empty()) {
            return "after recover was cut off: " + wrong;
        }
    }
    return "";
}

bool has_undo_record(const disk_image& image) {
    return std::any_of(image.names.begin(), image.names.end(),
                       [](const auto& each) { return each.first.back() == 'o'; });
}

class exploration {
    static constexpr std::size_t most_told = 4000; // characters

public:
    exploration(const scenario& each, const effort& how, std::mt19937_64& random, tally& into)
        : scenario_(each), how_(how), random_(random), tally_(into) {}

    std::size_t run(const fault& what) {
        promise promised;
        if (const std::string* const old = scenario_.before.find(target)) {
            promised.old_state = scenario_.old_state.value_or(*old);
        }
        alike_.clear();
        promised.new_state = undisturbed();
        memory_disk disk(scenario_.before);
        behave(disk);
        disk.sabotage = what.sabotage;
        disk.first_failing_call = what.first_failing_call;
        disk.failing_calls = what.failing_calls;
        if (what.first_failing_call != memory_disk::never) {
            faulty_ = ", call " + std::to_string(what.first_failing_call) +
                      (what.failing_calls == 1 ? " failed" : " and all after it failed");
        }
        const result<void> done = scenario_.run(disk);
        cut_everywhere(disk.journal(), promised, done.has_value());
        return disk.call_count();
    }

private:
    void behave(memory_disk& disk) const {
        disk.has_unnamed_files = scenario_.has_unnamed_files;
        disk.most_moved = scenario_.most_moved;
    }

    [[nodiscard]] std::string undisturbed() const {
        memory_disk disk(scenario_.before);
        behave(disk);
        scenario_.run(disk).value();
        return *disk.image().find(target);
    }

    void cut_everywhere(const std::vector<operation>& journal, promise& promised, bool is_done) {
        disk_image live = scenario_.before;
        for (std::size_t cut = 0; cut <= journal.size(); ++cut) {
            if (cut != 0) {
                apply(journal[cut - 1], live);
            }
            promised.is_new = is_done && cut == journal.size() && scenario_.sync == sync_level::durable;
            if (!scenario_.is_always_whole && !promised.is_new) {
                continue;
            }
            where_ = cut;
            look_at(live, promised); // the process was killed, and the power stayed on
            const power_cut states(scenario_.before, journal, cut);
            if (states.state_count() <= how_.most_enumerated) {
                for (std::uint64_t index = 0; index < states.state_count(); ++index) {
                    look_at(states.state(index), promised);
                }
                continue;
            }
            for (std::size_t sample = 0; sample < how_.samples; ++sample) {
                look_at(states.random_state(random_), promised);
            }
        }
    }

    void look_at(const disk_image& state, const promise& promised) {
        ++tally_.states;
        const std::uint64_t mark = std::hash<std::string>()(promised.new_state) + (promised.is_new ? 1 : 0);
        if (!tally_.distinct.insert(fingerprint(state) ^ mark * 0x9e3779b97f4a7c15u).second) {
            return;
        }
        const bool was_copied = random_() % 2 == 0;
        std::string wrong = broken_promise(state, promised, was_copied ? 1000 + random_() % 1000 : 1);
        if (wrong.empty() && has_undo_record(state)) {
            wrong = broken_promise_to_another(state, one_alike(promised));
        }
        if (wrong.empty() && has_undo_record(state) && !scenario_.old_state && random_() % how_.again_one_in == 0) {
            wrong = broken_promise_of_recovery(state, promised, random_);
        }
        if (wrong.empty()) {
            return;
        }
        ++tally_.violations;
        if (tally_.first_violations.size() < most_told) {
            tally_.first_violations +=
                scenario_.name + faulty_ + ", after operation " + std::to_string(where_) + ": " + wrong + '\n';
        }
    }

    const std::string& one_alike(const promise& promised) {
        if (alike_.empty()) {
            alike_ = files_alike(promised);
        }
        return alike_[static_cast<std::size_t>(random_() % alike_.size())];
    }

    const scenario& scenario_;
    const effort& how_;
    std::mt19937_64& random_;
    tally& tally_;
    std::string faulty_;
    std::size_t where_ = 0;
    std::vector<std::string> alike_; ///< made when they are needed
};

const char* name_of(format_version version) {
    switch (version) {
    case format_version::v0_1:
        return " 0.1";
    case format_version::v1_1:
        return " 1.1";
    case format_version::v1_2:
        return " 1.2";
    default:
        return " 2";
    }
}

} // namespace

std::vector<scenario> scenarios(std::uint64_t seed) {
    std::vector<scenario> all;
    using change_of = result<void> (*)(os_calls&, const write_options&, std::uint64_t);
    const auto list = [&](const char* name, change_of change, scenario like, const write_options& options) {
        like.name = name + std::string(name_of(options.version())) +
                    (options.sync() == sync_level::durable ? " durable" : " atomic") +
                    (like.has_unnamed_files ? "" : ", named") +
                    (like.most_moved == memory_disk::never ? "" : ", in short writes") + ", seed " +
                    std::to_string(seed);
        like.sync = options.sync();
        like.run = [=](os_calls& os) { return change(os, options, seed); };
        all.push_back(std::move(like));
    };
    for (const sync_level sync : {sync_level::durable, sync_level::atomic}) {
        for (const std::size_t most_moved : {memory_disk::never, static_cast<std::size_t>(300 + seed % 500)}) {
            for (const format_version version :
                 {format_version::v1_2, format_version::v1_1, format_version::v0_1, format_version::v2}) {
                const bool is_2 = version == format_version::v2;
                if (is_2 && most_moved != memory_disk::never) {
                    continue; // files so much longer would be written in very many pieces
                }
                const write_options beside = options_of(version).sync(sync).threads(1);
                const write_options in_place = write_options(beside).publish(publish_mode::in_place);
                scenario like;
                like.before = with_old_file(seed, version);
                like.most_moved = most_moved;
                list("append in place", append, like, in_place);
                if (!is_2) { // which is not edited
                    list("edit in place", edit, like, in_place);
                }
                for (const bool has_unnamed : {true, false}) {
                    like.has_unnamed_files = has_unnamed;
                    list("append", append, like, beside);
                    if (!is_2) {
                        list("edit", edit, like, beside);
                    }
                }
                like.before = with_old_file(seed + 1, version);
                list("replace", create, like, beside);
                like.has_unnamed_files = true;
                list("replace", create, like, beside);
                if (version == format_version::v1_2 && most_moved == memory_disk::never) {
                    scenario changed = like;
                    changed.old_state = *like.before.find(target);
                    changed.before = with_changed_file(seed, like.before);
                    list("replace a changed file", create, changed, beside);
                }
                like.is_always_whole = false;
                list("replace in place", create, like, in_place);
                like.before = {};
                list("create in place", create, like, in_place);
                like.is_always_whole = true;
                list("create", create, like, beside);
            }
        }
    }
    return all;
}

std::size_t explore(const scenario& each, const fault& what, const effort& how, std::mt19937_64& random, tally& into) {
    return exploration(each, how, random, into).run(what);
}

} // namespace faults
