# SPDX-License-Identifier: MIT
"""conan create cmake/packaging/conan

Header-only; with `-o "ztensor/*:compiled=True"` the compiled library. Then ztensor::ztensor, which all of a program's
packages link to, means that one: files of both modes don't link into one program.
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0"


class ZtensorConan(ConanFile):
    name = "ztensor"
    description = "Read and write .zt tensor files (C++17, header-only or compiled)"
    license = "MIT"
    homepage = "https://github.com/pie-project/ztensor"  # of the format
    url = homepage
    topics = ("tensor", "serialization", "machine-learning", "header-only")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {name: [True, False] for name in ("compiled", "json", "zlib", "hdf5", "http", "mpi", "shared", "fPIC")}
    default_options = {"compiled": False, "json": True, "zlib": True, "hdf5": False, "http": False, "mpi": False, "shared": False,
                       "fPIC": True}
    no_copy_source = True

    @property
    def _project(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir, os.pardir)

    def set_version(self):
        header = load(self, os.path.join(self._project, "include", "ztensor", "version.hpp"))
        self.version = ".".join(re.findall(r"#define ZTENSOR_VERSION_[A-Z]+ (\d+)", header))

    def export_sources(self):
        for pattern in ("include/*.hpp", "cmake/*.cmake", "cmake/*.in", "cmake/*.cpp", "CMakeLists.txt", "LICENSE"):
            copy(self, pattern, self._project, self.export_sources_folder, excludes="cmake/packaging/*")

    def config_options(self):
        if self.settings.os == "Windows":
            del self.options.fPIC

    def configure(self):
        if not self.options.compiled:
            self.package_type = "header-library"
            del self.options.shared
            self.options.rm_safe("fPIC")
        elif self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.json:
            # Seen from outside in public headers only, so that no binary depends on its version.
            self.requires("nlohmann_json/[>=3.8 <4]", transitive_headers=True, package_id_mode="unrelated_mode")
        self.requires("zstd/[~1.5]")
        self.requires("xxhash/[~0.8]")  # its header alone
        if self.options.zlib:
            self.requires("zlib/[>=1.2.11 <2]")
        if self.options.hdf5:  # of who includes hdf5.hpp
            self.requires("hdf5/[>=1.10 <3]", transitive_headers=True, transitive_libs=True, package_id_mode="unrelated_mode")
        if self.options.http:  # of who includes http.hpp
            self.requires("libcurl/[>=7.78 <9]", transitive_headers=True, transitive_libs=True, package_id_mode="unrelated_mode")
        if self.options.mpi:  # of who includes mpi.hpp
            self.requires("openmpi/[>=4.1 <6]", transitive_headers=True, transitive_libs=True, package_id_mode="unrelated_mode")

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def validate(self):
        check_min_cppstd(self, 17)

    def generate(self):
        if not self.options.compiled:
            return
        toolchain = CMakeToolchain(self)
        for option, value in {
            "BUILD_COMPILED": True,
            "BUILD_TESTS": False,
            "BUILD_EXAMPLES": False,
            "FETCH_DEPENDENCIES": False,
            "INSTALL": True,
            "JSON": bool(self.options.json),
            "ZLIB": bool(self.options.zlib),
            "HDF5": False,  # which the compiled library itself does not know
            "HTTP": False,  # likewise
        }.items():
            toolchain.cache_variables[f"ZTENSOR_{option}"] = value
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        if self.options.compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        if self.options.compiled:
            CMake(self).install()
            rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
            rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
            rmdir(self, os.path.join(self.package_folder, "share"))  # the licence again
        else:
            copy(self, "*.hpp", os.path.join(self.source_folder, "include"),
                 os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "ztensor")
        self.cpp_info.set_property("cmake_target_name", "ztensor::ztensor")
        self.cpp_info.set_property("pkg_config_name", "ztensor")
        self.cpp_info.requires = ["zstd::zstdlib", "xxhash::libxxhash"]
        if self.options.zlib:
            self.cpp_info.requires.append("zlib::zlib")
        if self.options.json:
            self.cpp_info.requires.append("nlohmann_json::nlohmann_json")
        if self.options.hdf5:
            self.cpp_info.requires.append("hdf5::hdf5_c")
        if self.options.http:
            self.cpp_info.requires.append("libcurl::libcurl")
        if self.options.mpi:
            self.cpp_info.requires.append("openmpi::openmpi")
        if self.options.compiled:
            self.cpp_info.set_property("cmake_target_aliases", ["ztensor::import", "ztensor::compiled"])
            self.cpp_info.set_property("pkg_config_aliases", ["ztensor-compiled"])
            self.cpp_info.defines = ["ZTENSOR_COMPILED"]
            self.cpp_info.libs = ["ztensor"]
        else:
            self.cpp_info.set_property("cmake_target_aliases", ["ztensor::import"])
            without = {"ZTENSOR_WITHOUT_JSON": self.options.json, "ZTENSOR_WITHOUT_ZLIB": self.options.zlib}
            self.cpp_info.defines = [word for word, has_it in without.items() if not has_it]
            self.cpp_info.bindirs = []
            self.cpp_info.libdirs = []
        if self.settings.os in ("Linux", "FreeBSD") and not self.options.get_safe("shared"):
            self.cpp_info.system_libs = ["pthread"]
