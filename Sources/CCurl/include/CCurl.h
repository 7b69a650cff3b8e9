#pragma once
#include <curl/curl.h>

// Swift cannot call variadic functions such as curl_easy_setopt: one typed function for each kind of argument.

// Swift does not import macros that contain casts.
static const long sluice_curl_auth_basic = (long)CURLAUTH_BASIC;

static inline CURLcode sluice_curl_initialize(void) {
    return curl_global_init(CURL_GLOBAL_DEFAULT);
}

static inline CURLcode sluice_curl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode sluice_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/// curl copies the text.
static inline CURLcode sluice_curl_set_text(CURL *easy, CURLoption option, const char *text) {
    return curl_easy_setopt(easy, option, text);
}

/// curl keeps the pointer.
static inline CURLcode sluice_curl_set_pointer(CURL *easy, CURLoption option, const void *pointer) {
    return curl_easy_setopt(easy, option, pointer);
}

/// curl keeps the list.
static inline CURLcode sluice_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
    return curl_easy_setopt(easy, option, list);
}

/// For CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION, which have the same form.
static inline CURLcode sluice_curl_set_receiver(
    CURL *easy, CURLoption option, curl_write_callback receiver
) {
    return curl_easy_setopt(easy, option, receiver);
}

/// For CURLOPT_SEEKFUNCTION.
static inline CURLcode sluice_curl_set_seeker(CURL *easy, curl_seek_callback seeker) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seeker);
}

static inline CURLcode sluice_curl_get_number(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode sluice_curl_get_pointer(CURL *easy, CURLINFO info, void **pointer) {
    return curl_easy_getinfo(easy, info, pointer);
}

static inline CURLcode sluice_curl_get_size(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

/// The text belongs to the handle.
static inline CURLcode sluice_curl_get_text(CURL *easy, CURLINFO info, const char **text) {
    return curl_easy_getinfo(easy, info, text);
}

/// Advances every transfer. Deprecated in general, but nothing else reaches one that has no socket and no timer.
static inline CURLMcode sluice_curl_advance_all(CURLM *multi, int *running) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return curl_multi_socket_all(multi, running);
#pragma GCC diagnostic pop
}

/// Makes curl tell of sockets and its timer, with `owner`.
static inline void sluice_curl_set_events(
    CURLM *multi, curl_socket_callback sockets, curl_multi_timer_callback timer, void *owner
) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, sockets);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, owner);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, owner);
}

static inline CURLMcode sluice_curl_set_multi_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
