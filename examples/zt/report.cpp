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

/// A list or an object of JSON, at the end of a text, where others may be begun in it and must end before it. Trees and
/// copies of the rows of a large file would take most of the time.
class json_text {
public:
    json_text(std::string& out, char begin) : out_(out), is_list_(begin == '[') { out_ += begin; }

    /// An item's value is to follow in the text.
    void begin() {
        out_ += is_empty_ ? "" : ",";
        is_empty_ = false;
    }
    void begin(std::string_view key) {
        begin();
        ((out_ += '"') += key) += "\":";
    }
    void add(std::string_view item) {
        begin();
        out_ += item;
    }
    void add(std::string_view key, std::string_view value) {
        begin(key);
        out_ += value;
    }
    void add_if(bool has, std::string_view key, std::string_view value) {
        if (has) {
            add(key, value);
        }
    }
    void end() { out_ += is_list_ ? ']' : '}'; }

private:
    std::string& out_;
    bool is_list_;
    bool is_empty_ = true;
};

constexpr const char* less_than = "\\u003c";

/// Whether a string in ASCII holds the byte as it is. HTML might take "<" for the end of the script that it stands in.
bool is_plain(char each) {
    return each >= 0x20 && each < 0x7f && each != '"' && each != '\\' && each != '<';
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
        } else if (text.front() == '<') {
            out += less_than;
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
    std::string text;
    json_text list(text, '[');
    for (const std::uint64_t each : numbers) {
        list.add(std::to_string(each));
    }
    list.end();
    return text;
}

std::string attributes_text(const ztensor::attributes_view& attributes) {
    return replaced(json(json_of(attributes)).dump(-1, ' ', true, json::error_handler_t::replace), "<", less_than);
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

void add_row(std::string& out, const ztensor::object_view& object, const told_numbers& numbers) {
    const storage_words how = storage_of(object);
    std::uint64_t offset = 0;
    for (const ztensor::component_view& part : parts_of(object)) {
        offset = offset == 0 ? part.offset() : std::min(offset, part.offset());
    }
    const number_stats stats = numbers.stats.value_or(number_stats());
    const bool has_stats = numbers.stats.has_value(), has_range = stats.finite() != 0;
    const double zeros = stats.count == 0 ? 0 : static_cast<double>(stats.zeros) / static_cast<double>(stats.count);
    json_text row(out, '{');
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
    row.end();
}

void add_tensors(std::string& out, const std::vector<ztensor::reader>& files, const report_options& options,
                 std::uint64_t stored) {
    const bool needs_scales = options.has_stats && !options.takes_raw_values;
    const auto scales = needs_scales ? std::optional<scale_finder>(files) : std::nullopt;
    json_text tensors(out, '[');
    std::uint64_t done = 0;
    progress_line progress;
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            progress.show(done, stored, object.name());
            tensors.begin();
            add_row(out, object, options.has_stats ? numbers_of(object, scales) : told_numbers());
            done += stored_bytes_of(object);
        }
    }
    tensors.end();
}

void add_findings(std::string& out, const input_set& set) {
    json_text findings(out, '[');
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
    findings.end();
}

/// What the page shows.
void add_content(std::string& out, const input_set& set, const report_options& options) {
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
    json_text content(out, '{');
    content.add("attributes", is_one ? attributes_text(first.attributes()) : "null");
    content.add("kind", string_text(kind_of(first) + (is_one ? "" : ", " + grouped(files.size()) + " files")));
    content.add("layout", is_one ? string_text(draw_layout(first, name_of_input(options.path))) : "null");
    content.begin("lint");
    add_findings(out, set);
    content.begin("summary");
    json_text summary(out, '[');
    const auto add_fact = [&](const char* what, const std::string& text) {
        summary.add('[' + string_text(what) + ',' + string_text(text) + ']');
    };
    add_fact("Tensors", grouped(objects));
    add_fact("Parameters", grouped(parameters));
    add_fact("Stored", human(stored));
    add_fact(is_one ? "File" : "Files", human(bytes));
    summary.end();
    content.begin("tensors");
    add_tensors(out, files, options, stored);
    content.add("title", string_text(name_of_input(options.path)));
    content.end();
}

exit_code write_report(const report_options& options) {
    const input_set set = open_set(options.path);
    tell_skipped(set);
    std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                       "content=\"width=device-width\"><title>zt report</title><style>";
    ((page += report_style) += "</style></head><body>") += report_frame;
    page += "<script type=\"application/json\" id=\"data\">";
    add_content(page, set, options);
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
