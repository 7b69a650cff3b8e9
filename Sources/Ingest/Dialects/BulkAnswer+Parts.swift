extension BulkAnswer {
    /// The members of the answer that a client asks for.
    struct Parts: OptionSet, Sendable {
        let rawValue: UInt16

        static let took = Parts(rawValue: 1)
        static let errors = Parts(rawValue: 2)
        static let index = Parts(rawValue: 4)
        static let id = Parts(rawValue: 8)
        static let version = Parts(rawValue: 16)
        static let result = Parts(rawValue: 32)
        static let status = Parts(rawValue: 64)
        static let error = Parts(rawValue: 128)

        static let items: Parts = [.index, .id, .version, .result, .status, .error]
        static let all: Parts = [.took, .errors, .items]
        static let brief: Parts = [.took, .errors, .status, .error]

        init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// Knows the paths that clients ask for; any other path selects all.
        init(filterPath: String?) {
            guard let filterPath, !filterPath.isEmpty else {
                self = .all
                return
            }
            self = []
            for path in filterPath.split(separator: ",") {
                formUnion(Parts(path: path.split(separator: ".", omittingEmptySubsequences: false)))
            }
        }

        private init(path: [Substring]) {
            switch (path.first, path.count) {
            case ("took", 1): self = .took
            case ("errors", 1): self = .errors
            case ("items", 1), ("items", 2): self = .items
            case ("items", 3...):
                switch path[2] {
                case "_index": self = .index
                case "_id": self = .id
                case "_version": self = .version
                case "result": self = .result
                case "status": self = .status
                case "error": self = .error
                default: self = .items
                }
            default: self = .all
            }
        }
    }
}
