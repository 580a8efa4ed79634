// SPDX-License-Identifier: MIT
#include "layout.hpp"

#include "input.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

namespace zt {
namespace {

enum class band_kind : std::size_t { raw, compressed, index, gap };

struct band_style {
    const char* name;
    const char* fill;
    const char* fill_of_odd; ///< neighbours of a kind must not run together
};
constexpr std::array<band_style, 4> styles = {{{"raw", "#4c8dc9", "#79aedd"},
                                               {"compressed", "#d98b2b", "#ecb568"},
                                               {"header, index and footer", "#6b5b95", "#6b5b95"},
                                               {"gap", "#ececec", "#ececec"}}};

/// A part of the file.
struct band {
    std::uint64_t begin;
    std::uint64_t end;
    band_kind kind;
    std::string name;
    std::string text;    ///< shown when somebody points at it
    std::uint64_t blobs; ///< in it
};

/// What stands for a character of XML.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        out += c == '<'   ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '&' ? "&amp;"
               : c == '"' ? "&quot;"
                          : std::string_view(&c, 1);
    }
    return out;
}

std::vector<band> blobs_of(const ztensor::reader& file) {
    std::vector<band> blobs;
    for (const ztensor::object_view object : file) {
        for (const ztensor::component_view part : object) {
            if (part.stored_bytes() == 0 || part.offset() >= file.file_bytes()) { // made, or in another file
                continue;
            }
            const bool is_raw = part.encoding() == ztensor::encoding::raw;
            std::string name = printable(object.name());
            if (object.size() > 1) {
                name += " / " + printable(part.role());
            }
            const std::string text = name + "\n" + printable(type_of(part)) + " " + to_string(object.shape()) + ", " +
                                     human(part.stored_bytes()) + (is_raw ? "" : " compressed") + " at byte " +
                                     grouped(part.offset());
            const std::uint64_t end = std::min(part.offset() + part.stored_bytes(), file.file_bytes());
            blobs.push_back({part.offset(), end, is_raw ? band_kind::raw : band_kind::compressed, name, text, 1});
        }
    }
    std::sort(blobs.begin(), blobs.end(),
              [](const band& a, const band& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
    return blobs;
}

/// The whole file, without holes. Where blobs are shared, the first has the place.
std::vector<band> bands_of(const ztensor::reader& file) {
    std::vector<band> bands;
    std::uint64_t at = 0;
    const auto fill_up_to = [&](std::uint64_t end, band_kind kind) {
        if (at < end) {
            const std::string name = kind == band_kind::gap ? "gap" : at == 0 ? "header" : "index and footer";
            bands.push_back({at, end, kind, name, name + ", " + human(end - at) + " at byte " + grouped(at), 0});
            at = end;
        }
    };
    for (band& blob : blobs_of(file)) {
        fill_up_to(blob.begin, at == 0 ? band_kind::index : band_kind::gap);
        if (blob.end > at) {
            blob.begin = at;
            at = blob.end;
            bands.push_back(std::move(blob));
        }
    }
    // The index ends the file; what stands between it and the last blob is a gap.
    constexpr std::uint64_t most_footer_bytes = 16;
    const std::uint64_t tail = file.manifest_bytes() + most_footer_bytes;
    if (file.file_bytes() > tail && at < file.file_bytes() - tail && file.file_bytes() - tail - at >= 64) {
        fill_up_to(file.file_bytes() - tail, band_kind::gap);
    }
    fill_up_to(file.file_bytes(), band_kind::index);
    return bands;
}

/// Joins neighbours that are each too narrow to be seen. A blob that was joined with gaps alone keeps its own words.
std::vector<band> joined(std::vector<band> bands, double narrow_bytes) {
    std::vector<band> wide;
    for (band& each : bands) {
        if (wide.empty() || wide.back().kind == band_kind::index || each.kind == band_kind::index ||
            static_cast<double>(each.end - wide.back().begin) > narrow_bytes) {
            wide.push_back(std::move(each));
            continue;
        }
        band& last = wide.back();
        if (last.blobs == 0) {
            last = {last.begin, each.end, each.kind, std::move(each.name), std::move(each.text), 0};
        }
        last.end = each.end;
        last.blobs += each.blobs;
    }
    for (band& each : wide) {
        if (each.blobs > 1) {
            each.name.clear(); // for which there is no room
            each.text =
                grouped(each.blobs) + " blobs, " + human(each.end - each.begin) + " at byte " + grouped(each.begin);
        }
    }
    return wide;
}

/// Lines of SVG.
class drawing {
public:
    void line(const char* text) {
        svg_ += text;
        svg_ += '\n';
    }
    template <class... Values>
    void line(const char* format, Values... values) {
        char text[512];
        std::snprintf(text, sizeof text, format, values...);
        svg_ += text;
        svg_ += '\n';
    }
    void text(double x, double y, const char* of_class, const std::string& content) {
        line("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, of_class);
        svg_.pop_back();
        svg_ += escaped(content) + "</text>\n";
    }
    void rectangle(double x, double y, double width, double height, const char* fill, const std::string& tip) {
        line("<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\">", x, y, width, height, fill);
        svg_.pop_back();
        svg_ += "<title>" + escaped(tip) + "</title></rect>\n";
    }
    [[nodiscard]] std::string take() && { return std::move(svg_) + "</svg>\n"; }

private:
    std::string svg_;
};

constexpr double picture_width = 1200;
constexpr double picture_left = 90;
constexpr double picture_right = 20;
constexpr double picture_top = 92;
constexpr double row_columns = picture_width - picture_left - picture_right;

void draw_legend(drawing& out, const ztensor::reader& file, const std::vector<band>& bands, const std::string& title) {
    std::array<std::uint64_t, styles.size()> bytes{};
    for (const band& each : bands) {
        bytes[static_cast<std::size_t>(each.kind)] += each.end - each.begin;
    }
    out.text(picture_left, 30, "title", printable(title));
    out.text(picture_left, 50, "small", grouped(file.size()) + " objects in " + human(file.file_bytes()));
    double x = picture_left;
    for (std::size_t i = 0; i < styles.size(); ++i) {
        if (bytes[i] == 0) {
            continue;
        }
        const double share = 100 * static_cast<double>(bytes[i]) / static_cast<double>(file.file_bytes());
        char percent[16];
        std::snprintf(percent, sizeof percent, "%.1f %%", share);
        const std::string label = std::string(styles[i].name) + ": " + human(bytes[i]) + " (" + percent + ")";
        out.rectangle(x, 62, 14, 14, styles[i].fill, styles[i].name);
        out.text(x + 20, 74, "small", label);
        x += 44 + 7.0 * static_cast<double>(label.size());
    }
}

/// One band, which may go on in the rows below.
class row_painter {
public:
    row_painter(drawing& out, std::uint64_t file_bytes, std::size_t rows, double row_height)
        : out_(out), bytes_per_row_(static_cast<double>(file_bytes) / static_cast<double>(rows)), rows_(rows),
          row_height_(row_height) {}

    void paint(const band& what, bool is_odd) {
        const band_style& style = styles[static_cast<std::size_t>(what.kind)];
        const auto begin = static_cast<double>(what.begin), end = static_cast<double>(what.end);
        auto row = static_cast<std::size_t>(begin / bytes_per_row_);
        for (row = std::min(row, rows_ - 1); row < rows_; ++row) {
            const double row_begin = static_cast<double>(row) * bytes_per_row_;
            const double from = std::max(begin, row_begin);
            const double to = std::min(end, row + 1 == rows_ ? end : row_begin + bytes_per_row_);
            if (from >= to) {
                break;
            }
            paint_part(what, style, is_odd, row, (from - row_begin) / bytes_per_row_, (to - from) / bytes_per_row_);
        }
    }
    [[nodiscard]] double y_of(std::size_t row) const {
        return picture_top + static_cast<double>(row) * (row_height_ + 6);
    }

private:
    void paint_part(const band& what, const band_style& style, bool is_odd, std::size_t row, double from,
                    double share) {
        constexpr double least_labelled = 40;
        constexpr double letter = 6.2;
        const double x = picture_left + from * row_columns, columns = share * row_columns;
        out_.rectangle(x, y_of(row), columns, row_height_, is_odd ? style.fill_of_odd : style.fill, what.text);
        if (columns >= least_labelled && row_height_ >= 14 && what.kind != band_kind::gap) {
            const auto letters = static_cast<std::size_t>((columns - 8) / letter);
            out_.text(x + 4, y_of(row) + row_height_ / 2 + 4, what.kind == band_kind::index ? "light" : "label",
                      cut(what.name, letters));
        }
    }

    drawing& out_;
    double bytes_per_row_;
    std::size_t rows_;
    double row_height_;
};

} // namespace

std::string draw_layout(const ztensor::reader& file, const std::string& title) {
    std::vector<band> bands = bands_of(file);
    constexpr std::size_t bands_in_a_row = 12;
    constexpr std::size_t most_rows = 40;
    const std::size_t rows = std::min(most_rows, (bands.size() + bands_in_a_row - 1) / bands_in_a_row);
    const double bytes_per_column = static_cast<double>(file.file_bytes()) / (static_cast<double>(rows) * row_columns);
    const double row_height = rows <= 4 ? 48 : 20;
    const double height = picture_top + static_cast<double>(rows) * (row_height + 6) + 16;

    drawing out;
    out.line("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">",
             picture_width, height, picture_width, height);
    out.line("<style>text{font-family:sans-serif;fill:#222}.title{font-size:17px;font-weight:bold}"
             ".small{font-size:12px}.label{font-size:11px}.light{font-size:11px;fill:#fff}.offset{font-size:11px;text-"
             "anchor:end;fill:#666}</style>");
    out.line("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    draw_legend(out, file, bands, title);
    row_painter painter(out, file.file_bytes(), rows, row_height);
    for (std::size_t row = 0; row < rows; ++row) {
        const double offset =
            static_cast<double>(file.file_bytes()) / static_cast<double>(rows) * static_cast<double>(row);
        out.text(picture_left - 8, painter.y_of(row) + row_height / 2 + 4, "offset",
                 human(static_cast<std::uint64_t>(offset)));
    }
    bool is_odd = false;
    for (const band& each : joined(std::move(bands), bytes_per_column)) {
        painter.paint(each, is_odd);
        is_odd = each.kind == band_kind::gap ? is_odd : !is_odd;
    }
    return std::move(out).take();
}

} // namespace zt
