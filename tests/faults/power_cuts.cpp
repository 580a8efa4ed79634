// SPDX-License-Identifier: MIT
#include "faults/power_cuts.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace faults {

namespace {

constexpr std::uint64_t sector_bytes = 512;

bool changes_content(const operation& each) {
    return each.what == change::written || each.what == change::resized;
}

bool changes_names(const operation& each) {
    return each.what == change::named || each.what == change::unnamed || each.what == change::renamed;
}

/// Of a write, the sectors that `arrives(number)` and, with `has_size`, the size; bytes never written are `filler`.
template <class Arrives>
void apply_sectors(const operation& each, disk_image& to, bool has_size, char filler, const Arrives& arrives) {
    if (to.files.size() <= each.file) {
        to.files.resize(each.file + 1);
    }
    std::string& content = to.files[each.file];
    const std::uint64_t end = each.offset + each.bytes.size();
    if (has_size && content.size() < end) {
        content.resize(static_cast<std::size_t>(end), filler);
    }
    for (std::uint64_t at = each.offset; at < end;) {
        const std::uint64_t next = std::min(end, (at / sector_bytes + 1) * sector_bytes);
        if (arrives(at / sector_bytes - each.offset / sector_bytes)) {
            if (content.size() < next) {
                content.resize(static_cast<std::size_t>(next), filler);
            }
            content.replace(static_cast<std::size_t>(at), static_cast<std::size_t>(next - at), each.bytes,
                            static_cast<std::size_t>(at - each.offset), static_cast<std::size_t>(next - at));
        }
        at = next;
    }
}

bool is_torn_by_sectors(const operation& each) {
    return each.offset / sector_bytes != (each.offset + each.bytes.size() - 1) / sector_bytes;
}

/// How many ways state() knows for what is uncertain.
std::uint64_t ways_of(const operation& each) {
    return each.what != change::written ? 2 : is_torn_by_sectors(each) ? 5 : 3;
}

void apply_way(const operation& each, disk_image& to, std::uint64_t way) {
    if (way == 0) {
        return;
    }
    if (way == 1) {
        apply(each, to);
        return;
    }
    apply_sectors(each, to, way == 2, '\0',
                  [&](std::uint64_t sector) { return way != 2 && (sector == 0) == (way == 3); });
}

} // namespace

void apply(const operation& each, disk_image& to) {
    switch (each.what) {
    case change::written:
        apply_sectors(each, to, true, '\0', [](std::uint64_t) { return true; });
        break;
    case change::resized:
        if (to.files.size() <= each.file) {
            to.files.resize(each.file + 1);
        }
        to.files[each.file].resize(static_cast<std::size_t>(each.offset));
        break;
    case change::named:
        if (to.files.size() <= each.file) {
            to.files.resize(each.file + 1);
        }
        to.names[each.name] = each.file;
        break;
    case change::renamed:
        to.names.erase(each.old_name);
        to.names[each.name] = each.file;
        break;
    case change::unnamed:
        to.names.erase(each.name);
        break;
    case change::file_synced:
    case change::sync_lost:
    case change::names_synced:
        break;
    }
}

std::uint64_t fingerprint(const disk_image& image) {
    std::uint64_t sum = 0;
    for (const auto& [name, file] : image.names) {
        for (const std::size_t hash : {std::hash<native_path>()(name), std::hash<std::string>()(image.files[file])}) {
            sum = (sum ^ hash) * 0x9e3779b97f4a7c15u;
            sum ^= sum >> 32;
        }
    }
    return sum;
}

power_cut::power_cut(disk_image before, const std::vector<operation>& journal, std::size_t cut)
    : base_(std::move(before)) {
    enum class fate : std::uint8_t { open, certain, lost };
    std::vector<fate> fates(cut, fate::open);
    for (std::size_t at = 0; at < cut; ++at) {
        const operation& each = journal[at];
        for (std::size_t earlier = 0; earlier < at; ++earlier) {
            const bool is_of_file = changes_content(journal[earlier]) && journal[earlier].file == each.file;
            const bool settles = each.what == change::names_synced ? changes_names(journal[earlier]) : is_of_file;
            if (fates[earlier] != fate::open || !settles) {
                continue;
            }
            if (each.what == change::file_synced || each.what == change::names_synced) {
                fates[earlier] = fate::certain;
            } else if (each.what == change::sync_lost) {
                fates[earlier] = fate::lost;
            }
        }
    }
    std::set<std::size_t> uncertain_files;
    bool has_uncertain_names = false;
    for (std::size_t at = 0; at < cut; ++at) {
        const operation& each = journal[at];
        if (!changes_content(each) && !changes_names(each)) {
            continue;
        }
        const bool is_certain = fates[at] == fate::certain;
        if (!is_certain) {
            has_uncertain_names = has_uncertain_names || changes_names(each);
            if (changes_content(each)) {
                uncertain_files.insert(each.file);
            }
            const std::uint64_t ways = ways_of(each);
            state_count_ =
                state_count_ > std::numeric_limits<std::uint64_t>::max() / ways ? state_count_ : state_count_ * ways;
        }
        const bool comes_after = changes_names(each) ? has_uncertain_names : uncertain_files.count(each.file) != 0;
        if (is_certain && !comes_after) {
            apply(each, base_);
        } else {
            steps_.push_back({&each, is_certain});
        }
    }
}

disk_image power_cut::state(std::uint64_t index) const {
    disk_image reached = base_;
    for (const step& each : steps_) {
        const std::uint64_t ways = ways_of(*each.what);
        apply_way(*each.what, reached, each.is_certain ? 1 : index % ways);
        index /= each.is_certain ? 1 : ways;
    }
    for (const auto& [name, file] : reached.names) {
        reached.files.resize(std::max(reached.files.size(), file + 1));
    }
    return reached;
}

disk_image power_cut::random_state(std::mt19937_64& random) const {
    disk_image reached = base_;
    const char filler = random() % 4 == 0 ? '\x5a' : '\0';
    for (const step& each : steps_) {
        const bool is_write = each.what->what == change::written;
        const std::uint64_t way = each.is_certain ? 1 : random() % (is_write ? 6 : 2);
        if (way <= 1) {
            apply_way(*each.what, reached, way);
            continue;
        }
        const bool has_size = random() % 2 == 0;
        const std::uint64_t sectors = way == 2 ? 0 : random();
        apply_sectors(*each.what, reached, has_size, filler,
                      [&](std::uint64_t sector) { return (sectors >> sector % 64 & 1) != 0; });
    }
    for (const auto& [name, file] : reached.names) {
        reached.files.resize(std::max(reached.files.size(), file + 1));
    }
    return reached;
}

} // namespace faults
