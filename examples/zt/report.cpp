// SPDX-License-Identifier: MIT
#include "characters.hpp"
#include "command.hpp"
#include "input.hpp"
#include "json_info.hpp"
#include "layout.hpp"
#include "report_page.hpp"
#include "scales.hpp"
#include "stats.hpp"
#include "terminal.hpp"
#include "texts.hpp"
#include "wording.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zt {
namespace {

using nlohmann::json;

struct report_options {
    std::string path;
    std::string out;
    bool has_stats = true;
    bool takes_raw_values = false;
};

/// A list or an object of JSON. It is text from the start: trees of the rows of a large file take most of the time.
class json_text {
public:
    explicit json_text(char begin) : text_(1, begin) {}

    void add(std::string_view item) {
        text_ += text_.size() == 1 ? "" : ",";
        text_ += item;
    }
    void add(std::string_view key, std::string_view value) {
        add("\"");
        ((text_ += key) += "\":") += value;
    }
    void add_if(bool has, std::string_view key, std::string_view value) {
        if (has) {
            add(key, value);
        }
    }
    [[nodiscard]] std::string take() && {
        text_ += text_.front() == '[' ? ']' : '}';
        return std::move(text_);
    }

private:
    std::string text_;
};

/// Whether a string in ASCII holds the byte as it is.
bool is_plain(char each) {
    return each >= 0x20 && each < 0x7f && each != '"' && each != '\\';
}

/// A string in ASCII. Names and words of files need not be UTF-8.
std::string string_text(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const auto plain =
            static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) {
            break;
        }
        const character each = first_character(text);
        if (!each.is_utf8) {
            out += "\\ufffd";
        } else if (text.front() == '"' || text.front() == '\\') {
            out += {'\\', text.front()};
        } else {
            out += escaped(text, each);
        }
        text.remove_prefix(each.bytes);
    }
    return out += '"';
}

std::string number_of(double number) {
    return std::isfinite(number) ? json(number).dump()
           : std::isnan(number)  ? "\"NaN\""
           : number < 0          ? "\"-inf\""
                                 : "\"inf\"";
}

template <class Numbers>
std::string list_of(const Numbers& numbers) {
    json_text list('[');
    for (const std::uint64_t each : numbers) {
        list.add(std::to_string(each));
    }
    return std::move(list).take();
}

std::string attributes_text(const ztensor::attributes_view& attributes) {
    return json(json_of(attributes)).dump(-1, ' ', true, json::error_handler_t::replace);
}

/// What the numbers of a tensor are, or why nothing is said of them.
struct told_numbers {
    std::optional<number_stats> stats;
    std::string why;
};

told_numbers numbers_of(const ztensor::object_view& object, const std::optional<scale_finder>& finder) {
    const std::string scales = finder ? finder->scales_of(object) : "";
    if (!scales.empty()) {
        return {{}, "codes, whose scales are in " + scales + "; --raw-values shows them"};
    }
    const auto stats = stats_of(object);
    return stats ? told_numbers{*stats, ""} : told_numbers{{}, in_words_of_zt(std::string(stats.error().sentence()))};
}

std::string row_of(const ztensor::object_view& object, const told_numbers& numbers) {
    const storage_words how = storage_of(object);
    std::uint64_t offset = 0;
    for (const ztensor::component_view& part : parts_of(object)) {
        offset = offset == 0 ? part.offset() : std::min(offset, part.offset());
    }
    const number_stats stats = numbers.stats.value_or(number_stats());
    const bool has_stats = numbers.stats.has_value(), has_range = stats.finite() != 0;
    const double zeros = stats.count == 0 ? 0 : static_cast<double>(stats.zeros) / static_cast<double>(stats.count);
    json_text row('{');
    row.add("attributes", attributes_text(object.attributes()));
    row.add_if(has_range, "bars", list_of(stats.bars));
    row.add("decoded", how.decoded_bytes ? std::to_string(*how.decoded_bytes) : "null");
    row.add_if(has_range, "deviation", number_of(stats.deviation));
    row.add("digest", string_text(how.digests));
    row.add("encoding", string_text(how.encodings));
    row.add("format", string_text(object.format().text()));
    row.add_if(has_stats, "infinite", std::to_string(stats.infinite));
    row.add_if(has_range, "max", number_of(stats.most));
    row.add_if(has_range, "mean", number_of(stats.mean));
    row.add_if(has_range, "min", number_of(stats.least));
    row.add("name", string_text(object.name()));
    row.add_if(has_stats, "nan", std::to_string(stats.not_numbers));
    row.add("offset", std::to_string(offset));
    row.add("parameters", std::to_string(object.element_count()));
    row.add("shape", list_of(object.shape()));
    row.add("stored", std::to_string(stored_bytes_of(object)));
    row.add("type", string_text(type_of(object)));
    row.add_if(!numbers.why.empty(), "why", string_text(numbers.why));
    row.add_if(has_stats, "zeros", number_of(zeros));
    return std::move(row).take();
}

std::string tensors_of(const std::vector<ztensor::reader>& files, const report_options& options, std::uint64_t stored) {
    const bool needs_scales = options.has_stats && !options.takes_raw_values;
    const auto scales = needs_scales ? std::optional<scale_finder>(files) : std::nullopt;
    json_text tensors('[');
    std::uint64_t done = 0;
    progress_line progress;
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            progress.show(done, stored, object.name());
            tensors.add(row_of(object, options.has_stats ? numbers_of(object, scales) : told_numbers()));
            done += stored_bytes_of(object);
        }
    }
    return std::move(tensors).take();
}

std::string findings_of(const input_set& set) {
    json_text findings('[');
    const auto add_skipped = [&](ztensor::span<const ztensor::skipped_item> items) {
        for (const ztensor::skipped_item& each : items) {
            findings.add(string_text("skipped: " + each.name + ": " + each.why));
        }
    };
    add_skipped(left_out_of(set));
    for (const ztensor::reader& file : set.files) {
        if (const auto odd = ztensor::lint(file)) {
            for (const ztensor::lint_finding& each : *odd) {
                findings.add(string_text(std::string(ztensor::name(each.kind)) + ": " + each.object +
                                         (each.object.empty() ? "" : ": ") + each.sentence));
            }
        }
        add_skipped(file.skipped());
    }
    return std::move(findings).take();
}

/// What the page shows.
std::string content_of(const input_set& set, const report_options& options) {
    const std::vector<ztensor::reader>& files = set.files;
    std::uint64_t objects = 0, parameters = 0, stored = 0, bytes = 0;
    for (const ztensor::reader& file : files) {
        objects += file.size();
        bytes += file.file_bytes();
        for (const ztensor::object_view object : file) {
            parameters += object.element_count();
            stored += stored_bytes_of(object);
        }
    }
    const ztensor::reader& first = files.front();
    const bool is_one = files.size() == 1;
    json_text summary('[');
    const auto add_fact = [&](const char* what, const std::string& text) {
        summary.add('[' + string_text(what) + ',' + string_text(text) + ']');
    };
    add_fact("Tensors", grouped(objects));
    add_fact("Parameters", grouped(parameters));
    add_fact("Stored", human(stored));
    add_fact(is_one ? "File" : "Files", human(bytes));
    json_text content('{');
    content.add("attributes", is_one ? attributes_text(first.attributes()) : "null");
    content.add("kind", string_text(kind_of(first) + (is_one ? "" : ", " + grouped(files.size()) + " files")));
    content.add("layout", is_one ? string_text(draw_layout(first, name_of_input(options.path))) : "null");
    content.add("lint", findings_of(set));
    content.add("summary", std::move(summary).take());
    content.add("tensors", tensors_of(files, options, stored));
    content.add("title", string_text(name_of_input(options.path)));
    return std::move(content).take();
}

exit_code write_report(const report_options& options) {
    const input_set set = open_set(options.path);
    tell_skipped(set);
    std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                       "content=\"width=device-width\"><title>zt report</title><style>";
    ((page += report_style) += "</style></head><body>") += report_frame;
    page += "<script type=\"application/json\" id=\"data\">";
    page += replaced(content_of(set, options), "<", "\\u003c"); // or HTML might take one for the end of the script
    ((page += "</script>\n<script>") += report_script) += "</script></body></html>\n";
    save_text(options.out, page, options.path, set.files);
    return good;
}

} // namespace

void add_report(tool& to) {
    const auto options = std::make_shared<report_options>();
    CLI::App* const command =
        add_command(to, "report", "Write a page for a browser: tensors, histograms, layout, findings",
                    "report model.safetensors -o report.html", [options] { return write_report(*options); });
    command->add_option("FILE", options->path, "The file, of any format, or the folder or index of shards")->required();
    command->add_option("-o,--output", options->out, "The page to write")->type_name("FILE.html")->required();
    add_raw_values_option(*command, options->takes_raw_values);
    command->add_flag("!--no-stats", options->has_stats, "Without histograms: no tensor is read");
}

} // namespace zt
