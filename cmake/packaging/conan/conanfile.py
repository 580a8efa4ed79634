# SPDX-License-Identifier: MIT
"""conan create cmake/packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class ZtensorConan(ConanFile):
    name = "ztensor"
    description = "Read and write .zt tensor files (header-only, C++17)"
    license = "MIT"
    topics = ("tensor", "serialization", "machine-learning", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    @property
    def _project(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir, os.pardir)

    def set_version(self):
        header = load(self, os.path.join(self._project, "include", "ztensor", "version.hpp"))
        self.version = ".".join(re.findall(r"#define ZTENSOR_VERSION_[A-Z]+ (\d+)", header))

    def export_sources(self):
        copy(self, "include/*.hpp", self._project, self.export_sources_folder)
        copy(self, "LICENSE", self._project, self.export_sources_folder)

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("nlohmann_json/[>=3.8 <4]")
        self.requires("zstd/[~1.5]")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 17)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "ztensor")
        self.cpp_info.set_property("cmake_target_name", "ztensor::ztensor")
        self.cpp_info.set_property("pkg_config_name", "ztensor")
        self.cpp_info.requires = ["nlohmann_json::nlohmann_json", "zstd::zstdlib"]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
