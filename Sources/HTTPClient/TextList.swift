import CCurl

/// Lines as the linked list that curl takes.
struct TextList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init() {}

    mutating func append(_ line: String) {
        // The call fails only without memory, and then Swift itself stops too.
        guard let list = curl_slist_append(first, line) else {
            preconditionFailure("out of memory")
        }
        first = list
    }

    deinit { curl_slist_free_all(first) }
}
