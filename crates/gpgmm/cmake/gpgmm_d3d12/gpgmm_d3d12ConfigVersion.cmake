include("${CMAKE_CURRENT_LIST_DIR}/../../heapwright/cmake/heapwrightConfigVersion.cmake")
