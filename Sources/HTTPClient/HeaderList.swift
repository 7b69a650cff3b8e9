import CCurl

/// Header lines in the form that curl takes.
struct HeaderList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init() {}

    mutating func append(_ line: String) {
        // It fails only without memory, where Swift itself gives up as well.
        guard let list = curl_slist_append(first, line) else {
            preconditionFailure("out of memory")
        }
        first = list
    }

    deinit { curl_slist_free_all(first) }
}
