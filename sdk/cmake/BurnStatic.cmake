# BurnStatic.cmake - in static builds (BURN_STATIC) the plugins of the tree become part of every program that links libburn: the list
# of their entry functions is generated here from what burn_add_plugin has seen.
if(NOT BURN_STATIC)
  return()
endif()
get_property(plugins GLOBAL PROPERTY BURN_STATIC_PLUGINS)
set(list "${CMAKE_BINARY_DIR}/burn_static_plugins.c")
set(declarations "")
set(entries "")
foreach(plugin ${plugins})
  string(APPEND declarations "const BurnPlugin *burn_static_query_${plugin}(const BurnHostInfo *query);\n")
  string(APPEND entries "burn_static_query_${plugin}, ")
endforeach()
file(CONFIGURE OUTPUT "${list}" @ONLY CONTENT [[/* Generated from the plugins of this build. */
#include <burn/plugin/plugin.h>

@declarations@
BURN_EXPORT extern const BurnPluginQuery burn_static_plugins[];
const BurnPluginQuery burn_static_plugins[] = {@entries@NULL};
]])
# An object, not an archive member: libburn refers to the list weakly, which pulls nothing out of an archive.
add_library(burn_static_plugins OBJECT "${list}")
target_link_libraries(burn_static_plugins PRIVATE burn_plugin_api)
# Its object for the link, and the target so that it is built before: of a program in another folder make knows no rule for the object.
target_link_libraries(burn INTERFACE $<BUILD_INTERFACE:$<TARGET_OBJECTS:burn_static_plugins>> $<BUILD_INTERFACE:burn_static_plugins>)
foreach(plugin ${plugins})
  target_link_libraries(burn INTERFACE $<BUILD_INTERFACE:burn_${plugin}>)
endforeach()
