# ./dev package: a .deb (and a .tar.gz) of what `install` collects.
include(GNUInstallDirs)
install(DIRECTORY resources/ DESTINATION ${CMAKE_INSTALL_DATADIR}/slipway
        PATTERN "theme" EXCLUDE) # the theme is compiled into the window
# The local target's control plane, where it is built by the time of installing (packaging/setup/controlplane.sh), and
# the licences of all that is compiled into it.
if(SLIPWAY_CONTROLPLANE_DIR)
    foreach(peer IN ITEMS etcd kube-apiserver kube-controller-manager kube-scheduler kuberay-operator)
        install(PROGRAMS ${SLIPWAY_CONTROLPLANE_DIR}/${peer} DESTINATION libexec/slipway OPTIONAL)
    endforeach()
    install(DIRECTORY ${SLIPWAY_CONTROLPLANE_DIR}/definitions DESTINATION libexec/slipway OPTIONAL)
    install(DIRECTORY ${SLIPWAY_CONTROLPLANE_DIR}/../licences/
            DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences-of-the-control-plane OPTIONAL)
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(CPACK_PACKAGE_NAME slipway)
set(CPACK_PACKAGE_VENDOR "The Slipway authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_CONTACT "The Slipway authors <slipway@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "fonts-inter, fonts-hack, libqt6svg6, libqt6sql6-sqlite")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-pip, prometheus")
include(CPack)
